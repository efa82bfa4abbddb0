"""Functions of a source file: where each begins and ends, and its qualified name.

A function here is what the metrics call one: a function or method at module or class level,
also inside ``if``, ``try``, ``with`` or a loop. Its span runs from its first decorator to the last line of its
body and includes signature, docstring, comments between its lines and every function or class nested in it. The body
of a class outside its methods belongs to no function. A name defined twice (overloads, property setters, definitions
in both branches of an ``if``) gives two spans with one name.

Other languages are read under the same rules (:mod:`fusesearch.code.reader`).

Python files that the running Python cannot parse (Python 2, broken syntax) are read by indentation: a scanner follows
strings, brackets and continuations to find logical lines, and ``def``/``class`` headers nest by indentation. For valid
Python both ways agree, except that text the scanner misreads can hide a function.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
import threading
import warnings
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from cachetools import LRUCache, cached

from fusesearch.code.reader import language_of, reader_of
from fusesearch.code.spans import FunctionSpan, is_python

KEPT_SPANS = 30_000
"""Files whose spans :func:`spans_of` caches: about 100 MB when full."""

MAX_CHARS = 2_000_000
"""Longer sources are read by indentation: a syntax tree takes a hundred times the memory of its source."""

# Python 3.11 and 3.12 count the depth of the tree they build per interpreter: two threads at once miscount and fail with a
# SystemError (CPython issue 106905). And catch_warnings changes what all threads see.
_PARSING = threading.Lock()

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
BLOCKS = ("body", "handlers", "cases", "orelse", "finalbody")
"""Fields of nodes that hold statements, or what holds statements."""

_HEADER = re.compile(r"[ \t\f]*(?:async[ \t]+)?(def|class)[ \t]+(\w+)")
_FIELDS = r"(?<!\w)(?:[fFtT][rR]?|[rR][fFtT])"
"""Before a string with replacement fields: an f-string, or a template of Python 3.14."""
_TOKEN = re.compile(
    rf"""{_FIELDS}(?P<text>\"{{3}}|'{{3}}|"|')
      | \"{{3}}(?:[^"\\]|\\.|"(?!""))*\"{{3}} | '{{3}}(?:[^'\\]|\\.|'(?!''))*'{{3}}
      | (?P<unclosed>\"{{3}}|'{{3}})
      | "(?:[^"\\\n]|\\.)*"? | '(?:[^'\\\n]|\\.)*'?
      | (?P<comment>\#[^\n]*)
      | (?P<open>[(\[{{]) | (?P<close>[)\]}}]) | (?P<format>:)
      | \\\r?\n
      | (?P<newline>\n|\Z)""",
    re.VERBOSE | re.DOTALL,
)
_IN_TEXT = {
    mark: re.compile(rf"\\N\{{[\w -]*\}}|\\[^{{}}]|(?P<field>\{{\{{?)|(?P<close>\}})|(?P<end>{mark}{end})", re.DOTALL)
    for mark, end in (('"', r"|(?=\n)"), ("'", r"|(?=\n)"), ('"""', ""), ("'''", ""))
}
"""What counts in the text of a string with replacement fields, and in the format of a field, by the string's mark."""
_TEXT = (
    r'[^\n()\[\]{}"\'#\\]++|(?<![fFtT])(?<![fFtT][rR])(?:"{3}(?:[^"\\]|\\(?:.|\Z)|"(?!""))*+"{3}'
    r"|'{3}(?:[^'\\]|\\(?:.|\Z)|'(?!''))*+'{3}"
    r'|"(?!"")(?:[^"\\\n]|\\.)*+"?'
    r"|'(?!'')(?:[^'\\\n]|\\.)*+'?)"
    r"|\#[^\n]*+|\\(?:\r?\n)?"
)
_INSIDE = rf"{_TEXT}|\n(?![ \t\f]*(?:async[ \t]+)?(?:def|class)[ \t]+\w)"
_BRACKETS = rf"[(\[{{](?:{_INSIDE})*+[)\]}}]"
for _ in range(3):  # one in the other
    _BRACKETS = rf"[(\[{{](?:{_INSIDE}|{_BRACKETS})*+[)\]}}]"
_LOGICAL = re.compile(rf"(?:{_TEXT}|{_BRACKETS})*+(\n|\Z)", re.DOTALL)
"""A logical line, unless a bracket or text in it is not closed, a bracket stands in four others, or a string has fields."""

_UNSURE = re.compile(
    r"^[ \t\f]*(?:(?:async[ \t]+)?(?:def|class)\b(?![ \t]+\w)|async\b(?![ \t]+\w)|\\\r?\n)"  # a header over several lines
    r"|\\\r?\n[ \t\f]*(?:\#|\r?\n|\Z)",  # a line that is joined with a comment or with nothing
    re.MULTILINE,
)
"""What is read otherwise by indentation than by Python."""


class _Line(NamedTuple):
    """A logical line: its first and last physical line, its indentation in columns, its text, and whether all in it is closed."""

    start: int
    end: int
    indent: int
    text: str
    closed: bool


def function_spans(source: str, path: str = "", *, by_indentation: bool = False) -> list[FunctionSpan]:
    """Outermost functions of ``source``, in order of their first line. Without a ``path`` the source is Python.

    Never raises: Python that does not parse is read by indentation; ``by_indentation`` asks for that directly. Lines end
    at line feeds alone, as in git. A file in an unknown language has no functions.
    """
    if path and not is_python(path):
        reader = reader_of(path, source)
        return reader.spans(source) if reader else []
    tree = None if by_indentation else parse(source)
    return sorted(_spans_by_indentation(source)) if tree is None else spans_in_tree(tree, source)


def spans_without_tree(source: str) -> list[FunctionSpan]:
    """As :func:`function_spans` for Python, in a third of the time: by indentation, and from a tree only where that may err.

    Python before 3.11.5 errs in expressions that give nothing back (CPython's issue 106052).
    """
    if sys.version_info < (3, 11, 5) or _UNSURE.search(source) or "\r" in source.replace("\r\n", "\n"):
        return function_spans(source)
    spans = sorted(_spans_by_indentation(source))
    return spans if all(span.name.isascii() for span in spans) else function_spans(source)  # Python changes some letters of names


def parse(source: str) -> ast.Module | None:
    """The syntax tree of ``source``, or ``None`` if it is too long or this Python cannot parse it."""
    if len(source) > MAX_CHARS:
        return None
    with _PARSING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source.removeprefix("\ufeff"))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def spans_in_tree(tree: ast.Module, source: str) -> list[FunctionSpan]:
    """As :func:`function_spans`, for a parsed source."""
    found = ((node, f"{prefix}{node.name}") for node, prefix in definitions(tree) if isinstance(node, FunctionNode))
    spans = (FunctionSpan(first_line(node), node.end_lineno or node.lineno, name) for node, name in found)
    return sorted(renumbered(spans, source))


def code_lines(source: str) -> list[str]:
    """Lines of a Python source without comments and trailing blanks."""
    starts = [0, *(match.end() for match in re.finditer("\n", source))]
    cuts = {bisect_right(starts, token.start()) - 1: token.start() for token in _comments(source)}
    lines = source.split("\n")
    return [
        line[: cuts[number] - starts[number]].rstrip() if number in cuts else line.rstrip() for number, line in enumerate(lines)
    ]


def _comments(source: str) -> Iterator[re.Match[str]]:
    return (token for token, _ in _tokens(source, 0) if token.lastgroup == "comment")


def unclosed_lines(source: str) -> list[tuple[int, int]]:
    """First and last line of each bracket or text of Python that does not end, where functions may be lost."""
    return [(line.start, line.end) for line in _logical_lines(source) if not line.closed]


def definitions(tree: ast.Module) -> Iterator[tuple[ast.stmt, str]]:
    """All statements outside functions with the dotted class prefix of each, in no particular order.

    Uses a stack because chains of ``elif`` can be thousands deep.
    """
    pending: list[tuple[ast.AST, str]] = [(node, "") for node in tree.body]
    while pending:
        node, prefix = pending.pop()
        if isinstance(node, ast.stmt):
            yield node, prefix
        if isinstance(node, FunctionNode):
            continue
        inside = f"{prefix}{node.name}." if isinstance(node, ast.ClassDef) else prefix
        for block in BLOCKS:
            children = getattr(node, block, None)
            if isinstance(children, list):
                pending.extend((child, inside) for child in children)


def first_line(node: FunctionNode | ast.ClassDef) -> int:
    """Line of a definition's first decorator, or of its header."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def renumbered(spans: Iterator[FunctionSpan], source: str) -> Iterator[FunctionSpan]:
    """Spans with git's line numbers: unlike git, Python also ends a line at a lone carriage return."""
    if "\r" not in source.replace("\r\n", "\n"):
        yield from spans
        return
    numbers, current = [0, 1], 1
    for ending in re.findall(r"\r\n|\r|\n", source):
        current += ending.endswith("\n")
        numbers.append(current)
    for span in spans:
        yield FunctionSpan(numbers[span.start], numbers[span.end], span.name)


def _spans_by_indentation(source: str) -> Iterator[FunctionSpan]:
    """Definitions nest by indentation; those inside a function belong to it."""
    classes: list[tuple[int, str]] = []
    first, last, name = 0, 0, ""  # of the function that goes on, if it has a name
    column = 0
    decorated: _Line | None = None
    for line in _logical_lines(source.removeprefix("\ufeff")):
        if name and line.indent > column:
            last = line.end
            continue
        if name:
            yield FunctionSpan(first, last, name)
            name = ""
        if line.text.startswith("@"):
            decorated = decorated if decorated and decorated.indent == line.indent else line
            continue
        while classes and classes[-1][0] >= line.indent:
            classes.pop()
        header = _HEADER.match(line.text)
        if header and header[1] == "class":
            classes.append((line.indent, header[2]))
        elif header:
            first = decorated.start if decorated and decorated.indent == line.indent else line.start
            last, name = line.end, ".".join([*(outer for _, outer in classes), header[2]])
            column = line.indent
        decorated = None
    if name:
        yield FunctionSpan(first, last, name)


def _logical_lines(source: str) -> Iterator[_Line]:
    """Lines of code joined over strings, brackets and backslashes; blank and comment lines are left out."""
    begin, number = 0, 1
    while begin < len(source):
        whole = _LOGICAL.match(source, begin)
        end, closed = (whole.end(), True) if whole else _end_of_line(source, begin)
        text = source[begin:end]
        start, number, begin = number, number + text.count("\n"), end
        code = text.strip()
        if code and not code.startswith("#"):
            margin = text[: len(text) - len(text.lstrip())].rpartition("\f")[2]
            yield _Line(start, number - text.endswith("\n"), len(margin.expandtabs(8)), code, closed)


def _end_of_line(source: str, position: int) -> tuple[int, bool]:
    """The end of the logical line that begins at ``position``, whatever is in it, and whether all in it is closed.

    A header of a function or class inside brackets means that an earlier bracket was never closed.
    """
    for token, depth in _tokens(source, position):
        if token.lastgroup == "newline" and (not depth or _HEADER.match(source, token.end())):
            return token.end(), not depth
    return len(source), False


def _tokens(source: str, position: int) -> Iterator[tuple[re.Match[str], int]]:
    """The comments and line feeds of the code from ``position``, and how many brackets and strings are open around each.

    A field of a string holds any code (PEP 701), and after a colon a format, which is text with fields again.
    """
    opened: list[tuple[str, str]] = []  # what is open, with the mark of the string that a text, a field or a format stands in
    while True:
        kind, mark = opened[-1] if opened else ("", "")
        token = (_IN_TEXT[mark] if kind in ("text", "format") else _TOKEN).search(source, position)
        if token is None or token.lastgroup == "unclosed":
            return
        found, position = token.lastgroup, token.end()
        if found == "text":
            opened.append(("text", token["text"]))
        elif found == "end":  # of a text, or of one with a field that is not closed
            while opened.pop()[0] != "text":
                pass
        elif found == "open":
            opened.append(("bracket", ""))
        elif found == "field" and (kind == "format" or token[0] == "{"):
            opened.append(("field", mark))
            position = token.start() + 1
        elif found == "format" and kind == "field":
            opened.append(("format", mark))
        elif found == "close" and (kind == "bracket" or (kind in ("field", "format") and token[0] == "}")):
            del opened[-1 - (kind == "format") :]
        elif found in ("comment", "newline"):
            yield token, len(opened)
            if not token[0]:
                return


def _cache_key(source: str, path: str) -> tuple[str, bytes]:
    return language_of(path, source), hashlib.blake2b(source.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@cached(LRUCache(maxsize=KEPT_SPANS), key=_cache_key, lock=threading.Lock())
def spans_of(source: str, path: str) -> tuple[FunctionSpan, ...]:
    """As :func:`function_spans`, cached by content, because snapshots of one repository share most files."""
    return tuple(function_spans(source, path))
