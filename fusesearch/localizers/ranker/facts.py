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
import sys
import unicodedata
import zlib
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, chain, repeat
from typing import Literal, TypeVar

from fusesearch.code.spans import FunctionSpan, is_python
from fusesearch.localizers.lexical.clues import stem

T = TypeVar("T")

MAX_FUNCTIONS = 60_000
MAX_TERM_CHARS = 80
MAX_LITERAL_CHARS = 40
MAX_COUNT = 255
"""A term counts at most this often, so that a count takes one byte."""

MAX_KNOWN = 200_000
"""Texts whose numbers are kept."""

MARKS = r"\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0eff\u1780-\u17d3"
"""Signs above and below letters, and scripts that have many: parts of names in all languages here, but not of ``\\w``."""
_NAME = rf"[^\W\d][\w{MARKS}]*"
IDENTIFIER = re.compile(_NAME)
_ASCII_IDENTIFIER = re.compile(IDENTIFIER.pattern, re.ASCII)  # twice as fast, and the same in a text of ASCII
PART = re.compile(rf"(?:[^\W\d_]|[{MARKS}])+|\d+")
LOWER, UPPER = "a-zß-öø-ÿα-ωа-яё", "A-ZÀ-ÖØ-ÞΑ-ΩА-ЯЁ"
"""Letters of the scripts with two cases, as parts of a character class."""
HUMP = re.compile(rf"(?<=[{LOWER}0-9])(?=[{UPPER}])|(?<=[{UPPER}])(?=[{UPPER}][{LOWER}])")
_CALLED = re.compile(rf"\b(?<!def )(?<!func )(?<!function )(?<!fn )({_NAME})[ \t]?\(")
_ASCII_CALLED = re.compile(_CALLED.pattern, re.ASCII)
_WORD = re.compile(r"\w+")
_PLACEHOLDER = re.compile(r"%(?:\(\w*\))?[-\d.]*[a-z]|\$?\{[^{}]*\}|\\.")
_STRING = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
_TRIPLE = r"\"{3}(?:[^\"\\]|\\.|\"(?!\"\"))*(?:\"{3}|\Z)|'{3}(?:[^'\\]|\\.|'(?!''))*(?:'{3}|\Z)"
_TEXTS = {
    True: re.compile(rf"({_TRIPLE}|{_STRING}|\#[^\n]*)", re.DOTALL),
    False: re.compile(rf"(/\*.*?(?:\*/|\Z)|//[^\n]*|{_STRING}|`[^`]*`|\#[ \t][^\n]*)", re.DOTALL),
}
_NESTED = re.compile(rf"\b(?:def|function|func|fn)\s+({_NAME})")
_CLASS = {
    True: re.compile(rf"^[ \t]*class[ \t]+({_NAME})", re.MULTILINE),
    False: re.compile(
        r"^[ \t]*(?:[\w@]+[ \t]+){0,5}?(?:class|struct|interface|trait|enum|union|record|object|protocol|module|type)[ \t]+"
        rf"({_NAME})",
        re.MULTILINE,
    ),
}
_VARIABLE = re.compile(rf"^[ \t]*(?:[a-z]+[ \t]+){{0,3}}({_NAME})[ \t]*(?::[^=\n]+)?=(?![=>])", re.MULTILINE)
_HEADER = struct.Struct("<IIIIII")
_KINDS: tuple[Literal["I", "H", "B"], ...] = ("I", "I", "H", "B", "B", "B")
_SIZES = {"I": 4, "H": 2, "B": 1}  # bytes of a number


@lru_cache(maxsize=200_000)
def words_of(identifier: str) -> tuple[str, ...]:
    """An identifier in lower case and the stems of its parts, or the stem alone if it has one part."""
    identifier = identifier[:MAX_TERM_CHARS]
    parts = [stem(part.lower()) for piece in PART.findall(identifier) for part in HUMP.split(piece)]
    if len(parts) < 2:
        return tuple(parts)
    return (identifier.lower().strip("_"), *parts)


def same_letters(text: str) -> str:
    """The text with one code point for letters that are the same (NFKC, as Python compares names): full-width ones, ligatures."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text).replace("İ", "I").replace("i̇", "i")


def term(text: str) -> int:
    """The number of a term."""
    return zlib.crc32(text[:MAX_TERM_CHARS].encode("utf-8", "replace"))


def term_of(name: str) -> int:
    """The term that a file has whose text contains a name, of Ruby's with its mark or without."""
    return term((*words_of(name.rstrip("?!=")), name)[0])


class _Known(dict[str, T]):
    """What ``make`` gives for a text, kept for the texts seen last: one look-up without a call for most of them."""

    def __init__(self, make: Callable[[str], T]) -> None:
        self._make = make

    def __missing__(self, text: str) -> T:
        if len(self) >= MAX_KNOWN:
            self.clear()
        found = self[text] = self._make(text)
        return found


_NUMBER = _Known(term)
_NUMBERS = _Known(lambda identifier: tuple(map(term, words_of(identifier))))


def literal_terms(literal: str) -> Iterator[str]:
    """Terms of a string literal, or of a message that an issue quotes: the whole of a short one, and triples of words."""
    whole = literal.strip().lower()
    if 2 < len(whole) <= MAX_LITERAL_CHARS and not whole.isdigit():
        yield f"l:{whole}"
    if whole.isascii() and whole.isidentifier():  # one word
        return
    for part in _PLACEHOLDER.split(whole):
        found = _WORD.findall(part)
        yield from (f"t:{' '.join(found[start : start + 3])}" for start in range(len(found) - 2))


@dataclass(frozen=True)
class Facts:
    """Facts of a file. ``terms`` are in ascending order; the other arrays are parallel to it or to the functions."""

    terms: array[int]
    in_code: memoryview
    in_text: memoryview
    starts: memoryview
    numbers: memoryview
    counts: memoryview
    lengths: memoryview
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
    from fusesearch.code.functions import function_spans, spans_without_tree  # an answer from an index parses nothing

    python = is_python(path)
    spans = (spans_without_tree(source) if python else function_spans(source, path))[:MAX_FUNCTIONS]
    in_code: Counter[str] = Counter()  # how often the file has each identifier
    in_text: Counter[str] = Counter()
    exact: dict[int, int] = {}
    postings: dict[int, list[int]] = defaultdict(list)  # of each term the functions that have it, and how often
    lengths = array("I", [0]) * len(spans)
    outside: list[str] = []
    hash_comments = python or path.endswith((".rb", ".sh", ".bash", ".pl", ".pm", ".r", ".jl", ".ex", ".exs"))
    for number, segment in _segments(same_letters(source), spans):
        own_exact, plain, texts = _exact(segment, hash_comments)
        code, text = identifiers_in(plain), identifiers_in("\n".join(texts))
        in_code.update(code)
        in_text.update(text)
        if number is None:
            outside.append(plain)
        else:
            found = Counter(chain.from_iterable(map(_NUMBERS.__getitem__, code + text)))
            lengths[number] = found.total()
            name = same_letters(spans[number].name).split(".")
            _count(own_exact, [f"d:{inner}" for inner in {*_nested(plain, python), name[-1]}])
            _count(own_exact, [f"c:{outer}" for outer in name[:-1]])
            own_exact[_NUMBER["q:" + ".".join(name[-2:])]] = 1
            for key, times in own_exact.items():
                found[key] += times
            for key, times in found.items():
                postings[key].append(number << 16 | (times if times < MAX_COUNT else MAX_COUNT))
        for key, times in own_exact.items():
            exact[key] = exact.get(key, 0) + times
    rest = "\n".join(outside)
    classes = list(dict.fromkeys(_CLASS[python].findall(rest)))
    _count(exact, [f"c:{name}" for name in classes])
    _count(exact, [f"v:{name}" for name in set(_VARIABLE.findall(rest))])
    names = [[[span.start, span.end, span.name] for span in spans], classes]
    return _packed(_terms(in_code), _terms(in_text), exact, postings, lengths, names)


def identifiers_in(text: str) -> list[str]:
    """All identifiers of a text, in order."""
    return (_ASCII_IDENTIFIER if text.isascii() else IDENTIFIER).findall(text)


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


def _exact(segment: str, hash_comments: bool) -> tuple[dict[int, int], str, list[str]]:
    """Terms of calls and literals, the code without text, and the texts."""
    parts = _TEXTS[hash_comments].split(segment)
    plain, texts = " ".join(parts[::2]), parts[1::2]
    exact: dict[int, int] = {}
    _count(exact, [f"k:{name}" for name in set((_ASCII_CALLED if plain.isascii() else _CALLED).findall(plain))])
    for found in texts:
        if found[0] in "\"'`" and not found.startswith(('"""', "'''")) and len(found) > 4:
            _count(exact, literal_terms(found[1:-1]))
    return exact, plain, texts


def _nested(plain: str, python: bool) -> list[str]:
    """Names of the functions that the code of one defines, its own among them; of most that is the only one."""
    others = "fn" in plain or "func" in plain
    return _NESTED.findall(plain) if others or plain.count("def") > python else []


def _count(terms: dict[int, int], found: Iterable[str]) -> None:
    for text in found:
        number = _NUMBER[text]
        terms[number] = terms.get(number, 0) + 1


def _terms(identifiers: Counter[str]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for identifier, times in identifiers.items():
        for number in _NUMBERS[identifier]:
            counts[number] = counts.get(number, 0) + times
    return counts


def _packed(
    code: dict[int, int],
    text: dict[int, int],
    exact: dict[int, int],
    postings: Mapping[int, list[int]],
    lengths: array[int],
    names: object,
) -> bytes:
    words = sum(code.values()), sum(text.values())
    for key, times in exact.items():
        code[key] = code.get(key, 0) + times
    terms = sorted(code.keys() | text.keys())
    inside = [postings.get(key, ()) for key in terms]
    starts = array("I", accumulate(map(len, inside), initial=0))
    halves = array("H", array("I", chain.from_iterable(inside)).tobytes())  # numbers and counts in turn
    count, number = (0, 1) if sys.byteorder == "little" else (1, 0)
    in_code, in_text = (
        bytes([times if times < MAX_COUNT else MAX_COUNT for times in map(counts.get, terms, repeat(0))])
        for counts in (code, text)
    )
    raw = json.dumps(names, separators=(",", ":")).encode("ascii")
    head = _HEADER.pack(len(terms), len(halves) // 2, len(lengths), len(raw), *words)
    arrays = (array("I", terms), starts, lengths, halves[number::2])
    body = b"".join([head, *(part.tobytes() for part in arrays), in_code, in_text, bytes(array("B", halves[count::2])), raw])
    return zlib.crc32(body).to_bytes(4, "little") + body


def read(data: bytes) -> Facts:
    """The facts in ``data``. Raises :class:`ValueError` if they are damaged."""
    if len(data) < 4 + _HEADER.size or zlib.crc32(memoryview(data)[4:]) != int.from_bytes(data[:4], "little"):
        raise ValueError("damaged facts")
    terms, postings, functions, _, code, text = _HEADER.unpack_from(data, 4)
    position = 4 + _HEADER.size
    view = memoryview(data)
    found = array("I")  # not a view, because a search goes through all terms
    found.frombytes(view[position : position + 4 * terms])
    position += 4 * terms
    parts = []
    for kind, length in zip(_KINDS, (terms + 1, functions, postings, terms, terms, postings), strict=True):
        end = position + length * _SIZES[kind]
        parts.append(view[position:end].cast(kind))
        position = end
    starts, lengths, numbers, in_code, in_text, counts = parts
    return Facts(found, in_code, in_text, starts, numbers, counts, lengths, code, text, data[position:])
