"""Syntax that is newer than a grammar, or foreign to it, blanked out or written as the grammar knows it, at equal length."""

from __future__ import annotations

import re
from collections.abc import Iterator

LITERAL = re.compile(rb"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|(?<!\d)'(?:[^'\\\n]|\\.)*'", re.DOTALL)
"""Comments and literals, but for the separators of ``1'000``."""


def newer(data: bytes, language: str) -> Iterator[tuple[str, bytes]]:
    """Readings of a source in a language without ``#if``, each with its grammar."""
    if language == "kotlin":
        yield language, _KOTLIN_CLOSING.sub(b";", data)
        data = _KOTLIN_CLOSING.sub(b";", _kotlin_2(data))
        yield language, data
        yield language, _plainer_kotlin(data)
    elif language == "javascript":
        yield "tsx", _FLOW.sub(lambda match: match[0].translate(_SPACES), data)
    elif language in _SMALL:
        yield language, _SMALL[language].sub(blanked, data)


def blanked(match: re.Match[bytes]) -> bytes:
    """A match with its last group blanked out."""
    start, end = match.span(match.lastgroup or 0)
    whole = match[0]
    offset = match.start()
    return whole[: start - offset] + blank(whole[start - offset : end - offset]) + whole[end - offset :]


def blank(text: bytes) -> bytes:
    """Blanks in the place of a text, with its lines."""
    return re.sub(rb"[^\n]", b" ", text)


def written(text: bytes, over: bytes) -> bytes:
    """``over`` blanked out with ``text`` in it, on the first line that has room; without the text if none has."""
    blanks = blank(over)
    start = blanks.find(b" " * len(text))
    return blanks if start < 0 else blanks[:start] + text + blanks[start + len(text) :]


_MODULE = re.compile(rb"^[ \t]*(?P<macro>(?:export[ \t]+)?(?:module\b[^\n;(]*|import[ \t]+[\w.:<\"][^\n;(]*);)", re.MULTILINE)
_EXPORTED = re.compile(rb"^[ \t]*export\s*\{", re.MULTILINE)
_EXPORT = re.compile(rb"^[ \t]*(?P<macro>export[ \t]+)(?=[A-Za-z_\[])", re.MULTILINE)
_SIGNALS = re.compile(rb"(?P<macro>\b(?:(?:Q_SIGNALS|signals)[ \t]*:(?!:)|(?:Q_SLOTS|slots)\b(?=[ \t]*:(?!:))))")
_THIS = re.compile(rb"(?<=\()(?P<macro>\s*this\s)(?=\s*[A-Za-z_][\w:<>, ]*\s*[&*]*\s*\w+\s*[,)])")
_CONSTEVAL = re.compile(rb"(?<=\bif )!?\s*consteval\b")


def newer_cpp(data: bytes) -> bytes:
    """Without modules, ``this`` of a parameter, ``if consteval``, and Qt's words for parts of a class."""
    if b"export" in data or b"import" in data or b"module" in data:
        data = _without_blocks(_MODULE.sub(blanked, data), _EXPORTED)
        data = _EXPORT.sub(blanked, data)
    for pattern in (_SIGNALS, _THIS):
        data = pattern.sub(blanked, data)
    return _CONSTEVAL.sub(lambda match: written(b"(1)", match[0]), data)


_EXTENSION = re.compile(rb"^[ \t]*extension\s*(?:<[^{};\n]*>)?\s*\([^{};]*\)[^{};]*\{", re.MULTILINE)
_CSHARP_SCRIPT = re.compile(rb"^(?P<macro>#[:!][^\n]*)", re.MULTILINE)
_REF_STRUCT = re.compile(rb"\ballows\s+ref\s+struct\b")


def newer_csharp(data: bytes) -> bytes:
    """Without the blocks of C# 14's extensions, whose members are the class's; directives of scripts; ``allows ref struct``."""
    data = _CSHARP_SCRIPT.sub(blanked, _without_blocks(data, _EXTENSION))
    return _REF_STRUCT.sub(lambda match: written(b"class", match[0]), data)


def _without_blocks(data: bytes, header: re.Pattern[bytes]) -> bytes:
    """A source without headers that end in a brace, and without the braces that close them."""
    if not header.search(data):
        return data
    source, code = bytearray(data), LITERAL.sub(lambda match: blank(match[0]), data)
    for match in header.finditer(code):
        depth = 1
        for mark in re.compile(rb"[{}]").finditer(code, match.end()):
            depth += 1 if mark[0] == b"{" else -1
            if not depth:
                source[match.start() : match.end()] = blank(match[0])
                source[mark.start() : mark.end()] = b" "
                break
    return bytes(source)


_KOTLIN_CLOSING = re.compile(rb"(?<=[^\s{;])[ \t](?=\})")
"""tree-sitter-kotlin 1.1 rejects a declaration with a closing brace after it on the same line."""
_KOTLIN_CONTEXT = re.compile(rb"(?<![\w.])context[ \t]*\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)(?=\s+[a-z@])")
_KOTLIN_CONTEXT_TYPE = re.compile(rb"[:(,<>=]\s*(?P<macro>context[ \t]*\([^()\n]*\))(?=[ \t]*\()")
_KOTLIN_GUARD = re.compile(
    rb"^[ \t]*(?:(?:is|!is|in|!in)\b[^\n{}]*?|[\w.\"', ]+?)(?P<macro>[ \t]if\b(?:\"[^\"\n]*\"|[^\n{}\"])*?)(?=[ \t]*->)",
    re.MULTILINE,
)
_KOTLIN_INTERPOLATION = re.compile(rb"(?<![\w$\"}])(?P<macro>\$\$+)(?=\")")
_KOTLIN_FIELD = re.compile(rb"^[ \t]*va[lr] [^\n{}]*\n(?P<macro>[ \t]*field[ \t]*(?::[^\n=]*)?=[^\n{]*)$", re.MULTILINE)
_KOTLIN_ALL = re.compile(rb"@all:")


def _kotlin_2(data: bytes) -> bytes:
    """With an annotation for context parameters (2.2), without guards of ``when`` (2.1), marks before strings (2.2) and fields
    of properties (2.3)."""
    data = _KOTLIN_CONTEXT.sub(lambda match: b"@c".ljust(len(match[0])), data)
    for pattern in (_KOTLIN_CONTEXT_TYPE, _KOTLIN_GUARD, _KOTLIN_INTERPOLATION, _KOTLIN_FIELD):
        data = pattern.sub(blanked, data)
    return _KOTLIN_ALL.sub(b"@get:", data)


_SWIFT_MACRO = re.compile(rb"^([ \t]*)#(?=(?!if\b|elseif\b|else\b|endif\b|warning\b|error\b)[a-zA-Z])", re.MULTILINE)
_SWIFT_SAID = re.compile(rb"^[ \t]*(?P<macro>#(?:warning|error)[ \t]*\([^\n]*\))", re.MULTILINE)
_SWIFT_UNIT = re.compile(rb"(?<=[(,:])(\s*)\(\)(?=\s*[,)])")
_SWIFT_WORD = re.compile(
    rb"(?:\bin[ \t]+(?P<try>try[ \t])(?=[^\n]*\{$)|(?:->|:)[ \t]*(?P<sending>sending[ \t])(?=[ \t]*[A-Z]))", re.MULTILINE
)
_SWIFT_PATH = re.compile(rb"(?<=[(,: \t])(?P<slash>/)(?=[A-Z][\w.]*\??[,)\]])")
_SWIFT_NAME = re.compile(rb"(?<!func )(?<!let )(?<!var )(?<![\w$])_\$(?=[A-Za-z])")


def newer_swift(data: bytes) -> bytes:
    """Without what tree-sitter-swift 0.7 stumbles over: ``#warning``, ``()`` as a value, ``try`` in the head of a loop,
    ``sending``, the prefix ``/`` of case paths, and ``_$`` in names. Macros that begin a line become calls, unlike ``#if``."""
    data = _SWIFT_SAID.sub(blanked, data)
    data = _SWIFT_UNIT.sub(rb"\1_x", _SWIFT_MACRO.sub(rb"\1_", data)).replace(b"return ()", b"return _x")
    for pattern in (_SWIFT_WORD, _SWIFT_PATH):
        data = pattern.sub(blanked, data)
    return _SWIFT_NAME.sub(b"__", data)


_FLOW = re.compile(rb"\{\|(?:\s*[+-](?=\w))?|\|\}|[{,][ \t\n]*[+-](?=\w+\??[ \t]*:)")
"""Exact objects and covariant properties of Flow, whose other types are like those of TypeScript."""
_SPACES = bytes.maketrans(b"|+-", b"   ")
_SCRIPT_TYPES = re.compile(
    rb"(?<=[<,])(?P<macro>[ \t]*(?:in[ \t]+out|in|out)[ \t])(?=[ \t]*[A-Z])|^export(?P<types>[ \t]+type)(?=[ \t]*\*)"
    rb"|^export[ \t]+default(?P<abstract>[ \t]+abstract)(?=[ \t]+class[ \t]*[{<])"
    rb"|(?<=\w|\))(?P<tag><[^`;<>()]*>)(?=`)",
    re.MULTILINE,
)
_SMALL = {
    "java": re.compile(rb"^import[ \t]+(?P<macro>module[ \t]+)", re.MULTILINE),
    "typescript": _SCRIPT_TYPES,
    "tsx": _SCRIPT_TYPES,
}
"""Newer syntax in the way of a grammar: Java's ``import module``; TypeScript's ``in`` and ``out``, ``export type *``, an abstract
class without a name, and types of a tag before a template."""

_KOTLIN_MODIFIERS = re.compile(rb"(?P<macro>(?:\b(?:public|private|protected|internal|actual|expect)[ \t]+)+)(?=[a-z@])")
_KOTLIN_ACCESSOR = re.compile(rb"(?P<macro>@\w+(?:\([^()\n]*\))?\s+)(?=[gs]et[ \t]*\()")
_KOTLIN_NAMES = re.compile(rb"(?<!private )(?<!internal )(?<!protected )(?<![\w@])(?:[gs]et\b(?!\s*\()|in(?=\d))")
_KOTLIN_CALLS = re.compile(rb"(?<=\n)(?P<margin>[ \t]*)(?:get(?=\([^)\n])|set(?=\([^()\n]*,))")


def _plainer_kotlin(data: bytes) -> bytes:
    """Without what tree-sitter-kotlin 1.1 stumbles over: modifiers of constructors on a line of their own, annotated accessors,
    statements that call ``get`` or ``set``, and variables called so or ``in1``."""
    data = _KOTLIN_ACCESSOR.sub(blanked, data)
    data = _KOTLIN_CALLS.sub(lambda match: match["margin"] + b"_et", data)
    data = _KOTLIN_NAMES.sub(lambda match: b"_" + match[0][1:], data)
    return _KOTLIN_MODIFIERS.sub(blanked, data)


RUST_STRATEGIES = re.compile(rb"\bfn\s+\w+\s*\((?P<macro>(?:[^(){}]|\((?:[^(){}]|\([^(){}]*\))*\))*)\)")
"""Parameters of ``proptest!``."""
