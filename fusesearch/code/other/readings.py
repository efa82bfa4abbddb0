"""Readings of a source before its preprocessor, at equal length, so that lines and columns stay.

Grammars read C and C++ before the preprocessor: two headers of one function under ``#if``, or a macro before a class, are errors.
What is in the way is blanked out.
"""

from __future__ import annotations

import re
from itertools import pairwise

from fusesearch.code.other.recovery import blank, masked, matched

BRANCHES = 4
"""Most branches of one ``#if`` that are read."""

_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*([a-z]+)\b[ \t]*(\S*)(?:[^\n]*\\\r?\n)*[^\n]*", re.MULTILINE)
ARGUMENTS = rb"\((?:[^(){}]|\((?:[^(){}]|\([^(){}]*\))*\))*\)"
_WORD = rb"(?:_*[A-Z][A-Z0-9_]{2,}|__[a-z]\w+)\b(?!\s*::)"
_CALL = _WORD + rb"(?:[ \t]*" + ARGUMENTS + rb")?"
_MACRO = re.compile(
    rb"(?<![\w.:])(?P<before>" + _CALL + rb"(?:[ \t]*:(?=[ \t]*\n))?)(?=\s+(?!final\b)(?:[A-Za-z_~:]|\[\[))"
    rb"|^[ \t]*(?P<alone>" + _CALL + rb"[ \t]*;?)[ \t]*$(?!\s*\{)"
    rb"|(?:(?<=\))|(?<=const)|(?<=override))[ \t]*\n?[ \t]+(?P<after>" + _CALL + rb")(?=\s*(?:[{;]|:(?!:)|=))"
    rb"|\b(?:class|struct|union)\s+(?P<of_class>\w+(?:\([^()\n]*\))?)"
    rb"(?=\s+(?!final\b)[A-Za-z_]\w*(?:<[^;{}]*?>)?\s*(?:final\s*)?(?::(?!:)|\{))"
    rb"|(?<=[\w*])\s+(?P<of>[A-Z_][A-Z0-9_]*[ \t]*\()\([^;{}()]*\)\s*(?P<close>\))(?=\s*[{;])",
    re.MULTILINE,
)
"""Macros in capitals where an attribute or keyword may stand, alone on a line, between a head and its body, before the name of a
class, and around parameters: ``int f OF((int x)) {``."""
_CALLED = re.compile(rb"^[ \t]*[A-Z][A-Z0-9_]{2,}[ \t]*(" + ARGUMENTS + rb")(?=\s*\{)", re.MULTILINE)

_KOTLIN = re.compile(
    rb"(?<![\w.])(?P<context>context[ \t]*" + ARGUMENTS + rb"(?=\s+[a-z@]|[ \t]*\())|@\w+(?:\([^()\n]*\))?\s+(?=[gs]et[ \t]*\()"
)
"""Context parameters, which become an annotation, and annotations of accessors: tree-sitter-kotlin 1.1 rejects both."""


def readings(data: bytes, language: str, branch: int = 0) -> list[bytes]:
    """Readings of a source without its comments, the nearest first, with one ``branch`` of each ``#if``."""
    if language == "kotlin":
        return [_KOTLIN.sub(lambda match: b"@c" + blank(match[0])[2:] if match["context"] else blank(match[0]), data), data]
    source = one_branch(data, branch) if language in ("c", "cpp", "csharp", "swift") else data
    return [without_macros(source), source] if language in ("c", "cpp") else [source]


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


def without_macros(data: bytes) -> bytes:
    """C or C++ without macros that are in the way; a macro's call with a body has one argument."""
    code = _DIRECTIVE.sub(lambda match: blank(match[0]), masked(data))
    source = bytearray(data)
    for match in _MACRO.finditer(code):
        for name, text in match.groupdict().items():
            if text:
                source[match.start(name) : match.end(name)] = blank(text)
    for match in _CALLED.finditer(code):
        source[match.start(1) : match.end(1)] = b"(" + blank(match[1])[1:-1].replace(b" ", b"x", 1) + b")"
    return bytes(source)
