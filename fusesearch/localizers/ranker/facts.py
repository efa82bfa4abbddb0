"""The facts of one source file that a ranking needs, as bytes: which words and names occur where, and its functions.

A *term* is a word or something more exact, told apart by a prefix, and kept as 32 bits of a hash:

=========  ==========================================================================
``word``   an identifier in lower case, and the stems of its parts; words of comments and strings
``d:f``    a function or method called ``f`` is defined (nested ones belong to their outermost function)
``q:C.f``  the same with what holds it
``c:C``    a class, or what a language has instead, is defined
``v:x``    a variable is assigned outside functions
``k:f``    something called ``f`` is called
``l:s``    the string literal ``s``, in lower case
``t:abc``  three words that follow each other in a string literal
=========  ==========================================================================

For each term the facts have how often the file contains it in code and in text (comments and strings), and how often each
function does.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from fusesearch.code.spans import FunctionSpan, is_python
from fusesearch.localizers.lexical.clues import stem

MAX_FUNCTIONS = 60_000
MAX_TERM_CHARS = 80
MAX_LITERAL_CHARS = 40
MAX_COUNT = 255
"""A term counts at most this often, so that a count takes one byte."""

IDENTIFIER = re.compile(r"[^\W\d]\w*")
_PART = re.compile(r"[^\W\d_]+|\d+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CALLED = re.compile(r"(?<!def )(?<!func )(?<!function )(?<!fn )\b([^\W\d]\w*)[ \t]?\(")
_WORD = re.compile(r"\w+")
_PLACEHOLDER = re.compile(r"%(?:\(\w*\))?[-\d.]*[a-z]|\$?\{[^{}]*\}|\\.")
_STRING = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
_TRIPLE = r"\"{3}(?:[^\"\\]|\\.|\"(?!\"\"))*(?:\"{3}|\Z)|'{3}(?:[^'\\]|\\.|'(?!''))*(?:'{3}|\Z)"
_TEXTS = {
    True: re.compile(rf"{_TRIPLE}|{_STRING}|\#[^\n]*", re.DOTALL),
    False: re.compile(rf"/\*.*?(?:\*/|\Z)|//[^\n]*|{_STRING}|`[^`]*`|\#[ \t][^\n]*", re.DOTALL),
}
_NESTED = re.compile(r"\b(?:def|function|func|fn)\s+([^\W\d]\w*)")
_CLASS = {
    True: re.compile(r"^[ \t]*class[ \t]+(\w+)", re.MULTILINE),
    False: re.compile(
        r"^[ \t]*(?:[\w@]+[ \t]+){0,5}?(?:class|struct|interface|trait|enum|union|record|object|protocol|module|type)[ \t]+"
        r"([A-Za-z_]\w*)",
        re.MULTILINE,
    ),
}
_VARIABLE = re.compile(r"^[ \t]*(?:[a-z]+[ \t]+){0,3}([A-Za-z_]\w*)[ \t]*(?::[^=\n]+)?=(?![=>])", re.MULTILINE)
_HEADER = struct.Struct("<IIIIII")


@lru_cache(maxsize=200_000)
def words_of(identifier: str) -> tuple[str, ...]:
    """An identifier in lower case and the stems of its parts, or the stem alone if it has one part."""
    identifier = identifier[:MAX_TERM_CHARS]
    parts = [stem(part.lower()) for piece in _PART.findall(identifier) for part in _HUMP.split(piece)]
    if len(parts) < 2:
        return tuple(parts)
    return (identifier.lower().strip("_"), *parts)


def term(text: str) -> int:
    """The number of a term."""
    return zlib.crc32(text[:MAX_TERM_CHARS].encode("utf-8", "replace"))


@lru_cache(maxsize=200_000)
def _terms_of(identifier: str) -> tuple[int, ...]:
    return tuple(map(term, words_of(identifier)))


def literal_terms(literal: str) -> Iterator[str]:
    """Terms of a string literal, or of a message that an issue quotes: the whole of a short one, and triples of words."""
    whole = literal.strip().lower()
    if 2 < len(whole) <= MAX_LITERAL_CHARS and not whole.isdigit():
        yield f"l:{whole}"
    for part in _PLACEHOLDER.split(whole):
        found = _WORD.findall(part)
        yield from (f"t:{' '.join(found[start : start + 3])}" for start in range(len(found) - 2))


@dataclass(frozen=True)
class Facts:
    """Facts of a file. ``terms`` are in ascending order; the other arrays are parallel to it or to the functions."""

    terms: array[int]
    in_code: array[int]
    in_text: array[int]
    starts: array[int]
    numbers: array[int]
    counts: array[int]
    lengths: array[int]
    code: int
    text: int
    raw: bytes

    def find(self, wanted: int) -> int:
        """The place of a term, -1 if the file lacks it."""
        place = bisect_left(self.terms, wanted)
        return place if place < len(self.terms) and self.terms[place] == wanted else -1

    def functions_with(self, place: int) -> Iterator[tuple[int, int]]:
        """Numbers of the functions that contain the term at ``place``, with how often they do."""
        span = slice(self.starts[place], self.starts[place + 1])
        return zip(self.numbers[span], self.counts[span], strict=True)

    @cached_property
    def _names(self) -> tuple[list[list[object]], list[str]]:
        return tuple(json.loads(self.raw))

    @property
    def functions(self) -> list[FunctionSpan]:
        """The functions in order of their first line."""
        return [FunctionSpan(int(str(start)), int(str(end)), str(name)) for start, end, name in self._names[0]]

    @property
    def classes(self) -> list[str]:
        """Bare names of the classes."""
        return self._names[1]


def analyse(path: str, source: str) -> bytes:
    """The facts of a source file, for :func:`read`. Never raises."""
    from fusesearch.code.functions import function_spans  # here, because an answer from an index parses nothing

    python = is_python(path)
    spans = function_spans(source, path)[:MAX_FUNCTIONS]
    code: Counter[int] = Counter()
    text: Counter[int] = Counter()
    exact: Counter[int] = Counter()
    postings: dict[int, dict[int, int]] = {}
    lengths = array("I", [0]) * len(spans)
    outside: list[str] = []
    hash_comments = python or path.endswith((".rb", ".sh", ".bash", ".pl", ".pm", ".r", ".jl", ".ex", ".exs"))
    for number, segment in _segments(source, spans):
        own_code, own_text, own_exact, plain = _count(segment, hash_comments)
        if number is None:
            outside.append(plain)
        else:
            inner = _NESTED.findall(plain)
            own_exact.update(term(f"d:{name}") for name in {*inner, spans[number].name.rpartition(".")[2]})
            own_exact.update(term(f"c:{name}") for name in spans[number].name.split(".")[:-1])
            own_exact[term("q:" + ".".join(spans[number].name.split(".")[-2:]))] = 1
            lengths[number] = own_code.total() + own_text.total()
            for found in (own_code, own_text, own_exact):
                for key, times in found.items():
                    inside = postings.setdefault(key, {})
                    inside[number] = inside.get(number, 0) + times
        code.update(own_code)
        text.update(own_text)
        exact.update(own_exact)
    rest = "\n".join(outside)
    classes = list(dict.fromkeys(_CLASS[python].findall(rest)))
    exact.update(term(f"c:{name}") for name in classes)
    exact.update(term(f"v:{name}") for name in set(_VARIABLE.findall(rest)))
    return _packed(code, text, exact, postings, lengths, [[[*_row(span)] for span in spans], classes])


def _row(span: FunctionSpan) -> Iterable[object]:
    return span.start, span.end, span.name


def _segments(source: str, spans: list[FunctionSpan]) -> Iterator[tuple[int | None, str]]:
    """The text of each function with its number, and the text between functions."""
    lines = source.split("\n")
    line = 0
    for number, span in enumerate(spans):
        start = max(line, span.start - 1)  # a line of minified code has many functions: it counts for the first
        if start > line:
            yield None, "\n".join(lines[line:start])
        yield number, "\n".join(lines[start : span.end])
        line = max(line, span.end)
    yield None, "\n".join(lines[line:])


def _count(segment: str, hash_comments: bool) -> tuple[Counter[int], Counter[int], Counter[int], str]:
    """Words in code, words in text, exact terms, and the code without text."""
    texts: list[str] = []

    def cut(match: re.Match[str]) -> str:
        texts.append(match[0])
        return " "

    plain = _TEXTS[hash_comments].sub(cut, segment)
    exact: Counter[int] = Counter(term(f"k:{name}") for name in set(_CALLED.findall(plain)))
    for found in texts:
        if found[0] in "\"'`" and not found.startswith(('"""', "'''")) and len(found) > 4:
            exact.update(map(term, literal_terms(found[1:-1])))
    return _words(plain), _words("\n".join(texts)), exact, plain


def _words(text: str) -> Counter[int]:
    counts: Counter[int] = Counter()
    for identifier, times in Counter(IDENTIFIER.findall(text)).items():
        for number in _terms_of(identifier):
            counts[number] += times
    return counts


def _packed(
    code: Counter[int],
    text: Counter[int],
    exact: Counter[int],
    postings: dict[int, dict[int, int]],
    lengths: array[int],
    names: object,
) -> bytes:
    terms = array("I", sorted({*code, *text, *exact}))
    starts, numbers, counts = array("I", [0]), array("H"), array("B")
    for key in terms:
        inside = postings.get(key, {})
        numbers.extend(inside)
        counts.extend(min(times, MAX_COUNT) for times in inside.values())
        starts.append(len(numbers))
    in_code = array("B", (min(code[key] + exact[key], MAX_COUNT) for key in terms))
    in_text = array("B", (min(text[key], MAX_COUNT) for key in terms))
    raw = json.dumps(names, separators=(",", ":")).encode("ascii")
    head = _HEADER.pack(len(terms), len(numbers), len(lengths), len(raw), code.total(), text.total())
    body = b"".join([head, *(part.tobytes() for part in (terms, starts, lengths, numbers, in_code, in_text, counts)), raw])
    return zlib.crc32(body).to_bytes(4, "little") + body


def read(data: bytes) -> Facts:
    """The facts in ``data``. Raises :class:`ValueError` if they are damaged."""
    if len(data) < 4 + _HEADER.size or zlib.crc32(memoryview(data)[4:]) != int.from_bytes(data[:4], "little"):
        raise ValueError("damaged facts")
    terms, postings, functions, _, code, text = _HEADER.unpack_from(data, 4)
    position = 4 + _HEADER.size
    parts = []
    for kind, length in zip("IIIHBBB", (terms, terms + 1, functions, postings, terms, terms, postings), strict=True):
        part = array(kind)
        end = position + length * part.itemsize
        part.frombytes(memoryview(data)[position:end])
        parts.append(part)
        position = end
    found, starts, lengths, numbers, in_code, in_text, counts = parts
    return Facts(found, in_code, in_text, starts, numbers, counts, lengths, code, text, data[position:])
