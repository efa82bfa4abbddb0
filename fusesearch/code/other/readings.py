"""Readings of a source before its preprocessor, at equal length, so that lines and columns stay; and functions that macros name.

Grammars read C and C++ before the preprocessor: two headers of one function under ``#if``, or a macro before a class, are errors.
What is in the way is blanked out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise, takewhile

from fusesearch.code.other.recovery import blank, masked, matched
from fusesearch.code.spans import FunctionSpan

BRANCHES = 4
"""Most branches of one ``#if`` that are read."""

_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*([a-z]+)\b[ \t]*(\S*)(?:[^\n]*\\\r?\n)*[^\n]*", re.MULTILINE)
_ARGUMENTS = rb"\((?:[^(){}]|\((?:[^(){}]|\([^(){}]*\))*\))*\)"
_WORD = rb"(?:_*[A-Z][A-Z0-9_]{2,}|__[a-z]\w+)\b(?!\s*::)"
_CALL = _WORD + rb"(?:[ \t]*" + _ARGUMENTS + rb")?"
_OF_A_TYPE = rb"(?![ \t]+\w+[ \t]*\((?![ \t]*\w+[ \t]*\)[ \t]*\())"
"""In C a function has a type: the word before its name on a line stays."""
_MACROS = {
    language: re.compile(
        rb"(?<![\w.:])(?P<before>" + _WORD + rb"(?:[ \t]*" + _ARGUMENTS + rb"|" + alone + rb")(?:[ \t]*:(?=[ \t]*\n))?)"
        rb"(?=\s+(?!final\b)(?:[A-Za-z_~:]|\[\[))"
        rb"|^[ \t]*(?P<alone>" + _CALL + rb"[ \t]*;?)[ \t]*$(?!\s*\{)"
        rb"|(?:(?<=\))|(?<=const)|(?<=override))[ \t]*\n?[ \t]+(?P<after>" + _CALL + rb")(?=\s*(?:[{;]|:(?!:)|=))"
        rb"|\b(?:class|struct|union)\s+(?P<of_class>\w+(?:\([^()\n]*\))?)"
        rb"(?=\s+(?!final\b)[A-Za-z_]\w*(?:<[^;{}]*?>)?\s*(?:final\s*)?(?::(?!:)|\{))"
        rb"|(?<=[\w*])\s+(?P<of>[A-Z_][A-Z0-9_]*[ \t]*\()\([^;{}()]*\)\s*(?P<close>\))(?=\s*[{;])",
        re.MULTILINE,
    )
    for language, alone in (("c", _OF_A_TYPE), ("cpp", b""))
}  # fmt: skip
"""Macros in capitals where an attribute or keyword may stand, alone on a line, between a head and its body, before the name of a
class, and around parameters: ``int f OF((int x)) {``."""
_CALLED = re.compile(rb"^[ \t]*[A-Z][A-Z0-9_]{2,}[ \t]*(" + _ARGUMENTS + rb")(?=\s*\{)", re.MULTILINE)

_KOTLIN = re.compile(
    rb"(?<![\w.])(?P<context>context[ \t]*" + _ARGUMENTS + rb"(?=\s+[a-z@]|[ \t]*\())|@\w+(?:\([^()\n]*\))?\s+(?=[gs]et[ \t]*\()"
)
"""Context parameters, which become an annotation, and annotations of accessors: tree-sitter-kotlin 1.1 rejects both."""


def readings(data: bytes, language: str, branch: int = 0) -> list[bytes]:
    """Readings of a source without its comments, the nearest first, with one ``branch`` of each ``#if``."""
    if language == "kotlin":
        return [_KOTLIN.sub(lambda match: b"@c" + blank(match[0])[2:] if match["context"] else blank(match[0]), data), data]
    source = one_branch(data, branch) if language in ("c", "cpp", "csharp", "swift") else data
    return [without_macros(source, language), source] if language in _MACROS else [source]


def one_branch(data: bytes, branch: int) -> bytes:
    """The source without directives, and of each ``#if`` with one branch (from 0; the last where there are fewer), unless all its
    branches are whole statements or definitions."""
    source, code = bytearray(data), bytearray(masked(data))
    opened: list[tuple[list[int], bool]] = []

    def drop(start: int, end: int) -> None:
        source[start:end], code[start:end] = blank(bytes(source[start:end])), blank(bytes(code[start:end]))

    for match in _DIRECTIVE.finditer(bytes(code)):
        drop(*match.span())
        if match[1].startswith(b"if"):
            opened.append(([match.start()], match[1] == b"if" and match[2] == b"0"))
        elif match[1].startswith((b"el", b"endif")) and opened:
            opened[-1][0].append(match.start())
        if match[1] == b"endif" and opened:
            edges, never = opened.pop()
            parts = list(pairwise(edges))
            begins = code[: edges[0]].rstrip()[-1:] in (b"", b";", b"{", b"}", b":")
            texts = [bytes(code[start:end]) for start, end in parts]
            if never or not begins or not all(matched(text) and text.rstrip()[-1:] in (b"", b";", b"}") for text in texts):
                kept = min(branch, len(parts) - 1) if branch or not never else 1
                for start, end in parts[:kept] + parts[kept + 1 :]:
                    drop(start, end)
    return bytes(source)


def without_macros(data: bytes, language: str) -> bytes:
    """C or C++ without macros that are in the way; a macro's call with a body has one argument."""
    code = _DIRECTIVE.sub(lambda match: blank(match[0]), masked(data))
    source = bytearray(data)
    for match in _MACROS[language].finditer(code):
        for name, text in match.groupdict().items():
            if text:
                source[match.start(name) : match.end(name)] = blank(text)
    for match in _CALLED.finditer(code):
        source[match.start(1) : match.end(1)] = b"(" + blank(match[1])[1:-1].replace(b" ", b"x", 1) + b")"
    return bytes(source)


_NAMED = re.compile(
    rb"(?:\A|[;{}:])(?:\s|\b(?:static|inline|extern(?:\s+\"C\")?)\b)*([A-Z]\w+)[ \t]*(" + _ARGUMENTS + rb")\s*\{"
    rb"|\b([A-Z]\w+)[ \t]*(" + _ARGUMENTS + rb")\s*\("
)
"""A macro's call with a body or with parameters after it."""


def named_by_macros(spans: Iterable[FunctionSpan], data: bytes) -> Iterator[FunctionSpan]:
    """The functions of a C or C++ source, those that are a macro's call with a body by the name that its arguments give:
    ``read`` of ``SYSCALL(read, int, fd) {``, ``Cart.total`` of ``METHOD(Cart, total) {``."""
    lines = data.split(b"\n")
    for span in spans:
        holder, _, macro = span.name.rpartition(".")
        names: list[str] = []
        if re.fullmatch(r"[A-Z][A-Z0-9_]{2,}", macro) and holder.rpartition(".")[2] != macro:  # no constructor
            head = masked(b"\n".join(lines[span.start - 1 : min(span.end, span.start + 60)]), literals=False)
            called = (match[2] or match[4] for match in _NAMED.finditer(head) if (match[1] or match[3]).decode() == macro)
            inside = next(called, b"()")[1:-1]
            parts = map(bytes.strip, inside.split(b","))
            names = [one.decode() for one in takewhile(re.compile(rb"[A-Za-z_]\w*").fullmatch, parts)]
            if not re.search("TEST|METHOD|BENCHMARK|FIXTURE", macro):  # whose first argument is what holds the function
                names = names[:1]
            elif b'"' in inside:
                names = []
        yield FunctionSpan(span.start, span.end, ".".join(filter(None, [holder, *names]))) if names else span
