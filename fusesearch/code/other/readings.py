"""Other readings of a source that its grammar cannot parse, at equal length, so that lines and columns stay.

Grammars read a source as it stands, before a preprocessor: two headers of one function under ``#if``, a macro before a class or
alone on its line, or syntax newer than the grammar take it the functions after them. What is in the way is blanked out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise, takewhile

from fusesearch.code.other.newer import (
    LITERAL,
    RUST_STRATEGIES,
    blank,
    blanked,
    newer,
    newer_cpp,
    newer_csharp,
    newer_swift,
    written,
)
from fusesearch.code.spans import FunctionSpan

BRANCHES = 4
"""Most branches of one ``#if`` that are read."""

_DIRECTIVE = re.compile(rb"[ \t]*#[ \t]*([a-z]+)\b[ \t]*(\S*)")
_BRACKET = re.compile(rb"[(){}\[\]]")
_OPENING = b"({["


@dataclass
class _Chain:
    """An ``#if`` with its ``#elif``, ``#else`` and ``#endif``: the lines (from 0) where each branch begins, and the last."""

    starts: list[int]
    never: bool
    """Whether it begins with ``#if 0``."""
    end: int = -1
    uneven: bool = False
    depths: list[int] = field(default_factory=lambda: [0])


def readings(data: bytes, language: str) -> Iterator[tuple[str, bytes]]:
    """Other readings of a source that does not parse, from the nearest to the farthest, each with its grammar."""
    if language in ("c", "cpp", "csharp"):
        plain = _plain(data, language)
        even = one_branch(plain, 0, uneven=True)
        if language == "csharp":
            yield language, even
            yield language, one_branch(plain, 0)
            return
        yield language, without_macros(even, language)
        yield language, even
        one = without_macros(one_branch(plain, 0), language)
        yield language, one
        if language == "c":
            yield "cpp", one  # which has functions without a type: TEST_BEGIN(name) {
    elif language == "swift":
        plain = newer_swift(data)
        yield language, plain
        yield language, one_branch(plain, 0)
    else:
        yield from newer(data, language)


def other_branches(data: bytes, language: str) -> Iterator[bytes]:
    """Readings with the second to fourth branch of every ``#if`` that a reading with one branch left out."""
    if language in ("c", "cpp", "csharp", "swift"):
        plain = _plain(data, language)
        most = max((len(chain.starts) for chain in _chains(plain)), default=0)
        for branch in range(1, min(most, BRANCHES)):
            source = one_branch(plain, branch)
            yield without_macros(source, language) if language in ("c", "cpp") else source


def one_branch(data: bytes, branch: int, *, uneven: bool = False) -> bytes:
    """The source with one branch of each ``#if`` (counted from 0; the last where there are fewer), and without other directives.

    ``uneven``: only where a branch opens or closes a bracket that it does not close or open itself.
    """
    lines = data.split(b"\n")
    blanked = set(_directives(lines))
    for chain in _chains(data):
        if uneven and not chain.uneven:
            blanked -= {*chain.starts, chain.end}
            continue
        kept = min(branch, len(chain.starts) - 1) if branch or not chain.never else 1
        edges = [*chain.starts, chain.end]
        for index, (start, end) in enumerate(pairwise(edges)):
            blanked |= set(range(start, end)) if index != kept else set()
    return b"\n".join(b" " * len(line) if number in blanked else line for number, line in enumerate(lines))


def _directives(lines: list[bytes]) -> Iterator[int]:
    """Lines of directives, with those that continue them."""
    continued = False
    for number, line in enumerate(lines):
        continued = continued or _DIRECTIVE.match(line) is not None
        if continued:
            yield number
        continued = continued and line.rstrip().endswith(b"\\")


@lru_cache(maxsize=1)
def _chains(data: bytes) -> list[_Chain]:
    """Complete chains of conditions, inner ones first."""
    lines = LITERAL.sub(lambda match: blank(match[0]), data).split(b"\n")
    found: list[_Chain] = []
    opened: list[_Chain] = []
    for number, line in enumerate(lines):
        match = _DIRECTIVE.match(line)
        word = match[1] if match else b""
        if match and word in (b"if", b"ifdef", b"ifndef"):
            opened.append(_Chain([number], word == b"if" and match[2] == b"0"))
        elif word in (b"elif", b"elseif", b"elifdef", b"elifndef", b"else") and opened:
            opened[-1].uneven |= opened[-1].depths[-1] != 0
            opened[-1].starts.append(number)
            opened[-1].depths.append(0)
        elif word == b"endif" and opened:
            chain = opened.pop()
            chain.uneven |= chain.depths[-1] != 0
            chain.end = number
            found.append(chain)
            if opened:
                opened[-1].depths[-1] += chain.depths[0]
        elif opened and not match:
            chain = opened[-1]
            for mark in _BRACKET.findall(line):
                chain.depths[-1] += 1 if mark in _OPENING else -1
                chain.uneven |= chain.depths[-1] < 0
    return found


_MACRO = re.compile(rb"(?<![\w.])(?:_*[A-Z][A-Z0-9_]{2,}|__[a-z]\w+)\b(?!\s*::)")
_KNOWN = re.compile(
    rb"__(?:attribute|declspec|cdecl|clrcall|stdcall|fastcall|thiscall|vectorcall|based|restrict|unaligned|extension|inline|forceinline"
    rb"|asm|volatile|alignof|typeof|thread|try|except|finally|leave|func|builtin|real|imag|int|float|u?\d|[us]\d|m\d|const|signed)"
)
"""Words with two lines that grammars know, or that are types."""
_CLASS = re.compile(
    rb"\b(?:class|struct|union)\s+(?P<macro>(?!final\b)[A-Za-z_]\w*(?:\([^()\n]*\))?)(?=\s+(?!final\b)[A-Za-z_][\w:]*(?:<[^;{}]*?>)?\s*(?:final\s*)?(?::(?!:)|\{))"
)
_TYPE_ARGUMENT = re.compile(rb"(?<=[,(])(?P<macro>\s*(?:struct|union|enum)\s)(?=\s*\w+\s*[,)])")
_POINTER = re.compile(rb"\((?P<macro>\s*[A-Z][A-Z0-9_]{2,})\s*\*\s*\w+\s*\)\s*\(")
_WORDS = re.compile(rb"\w+\s+[A-Za-z_]")
_MAX_ARGUMENTS = 4_000
_MAX_ARGUMENT_LINES = 60
_IN_WORDS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
_TEMPLATE = re.compile(rb"\btemplate\s*<[^;{}]*$")
_HEAD = re.compile(rb"[A-Za-z_][\w:]*(?:<[^;{}]*?>)?\s*(?:final\s*)?(?::(?!:)|\{)")
_NAME = re.compile(rb"[A-Za-z_~]|::|\[\[")
_AFTER_HEADER = re.compile(rb"[{;]|:(?!:)|(?:const|override|final|noexcept)\b|->|=\s*(?:0|default|delete)\b")
_KEYWORD = re.compile(rb"\b(?:enum|template|class|struct|union|default|delete|new|operator)\b")
_CAST = re.compile(rb"(?<!operator )\b(?:un)?signed(?=\()")
"""tree-sitter-cpp reads ``unsigned(a) < b`` as the beginning of a template."""
_NO_NAMES = frozenset(
    b"""const struct enum union class unsigned signed typename return case goto sizeof new delete else operator throw static
    inline extern virtual constexpr explicit friend typedef volatile register mutable""".split()
)
_PROTOTYPE = re.compile(rb"(?<=[\w*])[ \t\n]+(?P<macro>[A-Z_][A-Z0-9_]*[ \t]*\()\([^;{}]*?\)\s*(?P<close>\))(?=\s*[{;])")
"""``int f OF((int x)) {``, for compilers without prototypes."""
_NAMESPACE = re.compile(rb"\bnamespace\s+[\w:]+\s*$")
_WORD = re.compile(rb"\w+")
_START = re.compile(rb"[;{}(,]")
_TRY = re.compile(rb"(?:TRY|CATCH\w*)$")
_LABEL = re.compile(rb"[ \t]*:[ \t]*(?:\n|\Z)")
_ALONE = re.compile(rb"[ \t]*;?[ \t]*(?:\n|\Z)")
_STATEMENT = re.compile(
    rb"(?:[;{}]|\b(?:else|do|default\s*:)|\bcase\b[^;{}]*:|[;{}]\s*\w+\s*:|^[ \t]*#[^\n]*|\A)\s*\Z", re.MULTILINE
)
"""What stands before a statement."""
_RESULT = re.compile(rb"[ \t]+\w+[ \t]*\((?![ \t]*\w+[ \t]*\)[ \t]*\()")
"""What stands after the type of a function's result: in C, no function is without one."""
_CONTINUED = {b",", b"(", b"=", b"+", b"-", b"*", b"|", b"&", b"<", b"?", b"["}
_CONTINUES = {b"{", b")", b",", b".", b"-", b"+", b"*", b"/", b"=", b"?", b"|", b"&", b"<"}
"""Signs before and after a macro alone on its line that make it a part of an expression."""
_AROUND = 300
"""Characters before and after a macro that say what it stands for."""


@lru_cache(maxsize=1)
def _plain(data: bytes, language: str) -> bytes:
    """Without comments and syntax that the grammar lacks."""
    data = LITERAL.sub(lambda match: blank(match[0]) if match[0][:1] == b"/" else match[0], data)
    return _NEWER[language](data) if language in _NEWER else data


_NEWER = {"csharp": newer_csharp, "cpp": newer_cpp, "swift": newer_swift}


def without_macros(data: bytes, language: str) -> bytes:
    """C or C++ without macros in capitals where an attribute, a keyword or a declaration may stand."""
    for pattern in (_CLASS, _TYPE_ARGUMENT, _POINTER):
        data = pattern.sub(blanked, data)
    source = bytearray(data)
    for match in _PROTOTYPE.finditer(data):
        for part in ("macro", "close"):
            source[match.start(part) : match.end(part)] = blank(match[part])
    lines = data.split(b"\n")
    directives = set(_directives(lines))
    line = position = 0
    for match in _MACRO.finditer(bytes(source)):
        line += source.count(b"\n", position, match.start())
        position = match.start()
        if line not in directives and source[position : match.end()] == match[0] and not _KNOWN.match(match[0]):
            _replace(source, match, language)
    return _CAST.sub(lambda match: b" " + match[0][1:], bytes(source))


def _replace(source: bytearray, macro: re.Match[bytes], language: str) -> None:
    """Blank out one macro, with its arguments, if what stands around it says that nothing of the language stands there."""
    start, named = macro.span()
    end = _arguments(source, named)
    before, after = bytes(source[max(0, start - _AROUND) : start]), bytes(source[end : end + _AROUND])
    kept = before.rstrip()
    word = kept[len(kept.rstrip(_IN_WORDS)) :]
    mark = b"" if word else kept[-1:]
    following = after.lstrip()
    named_before = bool(word) and word not in _NO_NAMES and not word[:1].isdigit()
    begins = not before.rpartition(b"\n")[2].strip()
    small = macro[0].islower()
    text = b""
    if word == b"if":  # if CONSTEXPR (condition)
        end = named
    elif word in (b"class", b"struct", b"union", b"enum"):  # class API Store : public Base {
        if not _HEAD.match(following) and not _MACRO.match(following):
            return
    elif mark in (b",", b"<") and end > named and following[:1] in (b",", b">") and _TEMPLATE.search(before):
        text = b"class"  # template <typename T, ENABLE_IF(condition)>
    elif following[:1] == b"{" and (_TRY.search(macro[0]) or _NAMESPACE.search(before)):  # TRY { } CATCH(...) { }
        pass
    elif following[:1] == b"{" and _KEYWORD.search(source, named, end):  # TEST(suite, enum) {
        start, end, text = named + 1, end - 1, b"x"
    elif _NAME.match(following) and not before.rstrip().endswith((b".", b"->", b"::")):  # API void f()
        plain = small or b"_" not in macro[0] or (language == "c" and _RESULT.match(after))
        if plain and end == named and not named_before and not _WORDS.match(following):
            return
        text = b"int" if word == b"typedef" else b""
    elif (mark == b")" or word in (b"const", b"noexcept", b"override")) and _AFTER_HEADER.match(following):
        pass  # void f() const LOCKS(mutex) {
    elif begins and following[:1] == b"{" and end > named + 2:  # TEST("suite", unsigned int) {
        start, end, text = named + 1, end - 1, b"x"
    elif named_before and not begins and following[:1] in ((b",", b")", b";", b"=", b"*") if small else (b",", b")", b";", b"=")):
        # int f(int x UNUSED, char __user *p), but int COUNT = 1;
        if not small and sum(part not in _NO_NAMES for part in _WORD.findall(_START.split(before)[-1])) < 2:
            return
    elif small:
        return
    elif begins and end == named and following[:1] == b"{" and _ALONE.match(after) and _STATEMENT.search(before):
        pass  # BEGIN_THREADS, and below it a block
    elif begins and _LABEL.match(after):  # PRIVATE_UNLESS_TESTED:
        end += after.index(b":") + 1
    elif not begins or not _ALONE.match(after) or mark in _CONTINUED or following[:1] in _CONTINUES:  # Q_OBJECT
        return
    source[start:end] = written(text, bytes(source[start:end]))


def _arguments(source: bytearray, position: int) -> int:
    """Where the arguments of a macro end that begin at ``position``, or ``position`` if it has none."""
    match = re.compile(rb"[ \t]*\(").match(source, position)
    depth = 0
    for index in range(match.end() - 1, min(len(source), match.end() + _MAX_ARGUMENTS)) if match else ():
        depth += (source[index] in b"(") - (source[index] in b")")
        if not depth:
            return index + 1
    return position


_CALLED_MACRO = re.compile(r"[A-Z][A-Z0-9_]{2,}")
_WITH_OWNER = re.compile(r"TEST|METHOD|BENCHMARK|FIXTURE")
"""Macros whose first argument is what holds the function: ``METHOD(Cart, total)``."""
_IDENTIFIER = re.compile(rb"[A-Za-z_]\w*")
_BEFORE = re.compile(rb"[;{}]|\b(?:public|private|protected)\s*:(?!:)")
_LINKAGE = re.compile(rb"(?:\s|\b(?:static|inline|extern(?:\s+\"C\")?)\b)*")


def named_by_macros(spans: Iterable[FunctionSpan], data: bytes) -> Iterator[FunctionSpan]:
    """The functions of a C or C++ source, those that are a macro's call with a body by the name that its arguments give."""
    lines = data.split(b"\n")
    for span in spans:
        holder, _, macro = span.name.rpartition(".")
        named = ""
        if _CALLED_MACRO.fullmatch(macro) and holder.rpartition(".")[2] != macro:  # no constructor
            named = _called(lines, span, macro)
        yield FunctionSpan(span.start, span.end, ".".join(filter(None, [holder, named]))) if named else span


def _called(lines: list[bytes], span: FunctionSpan, macro: str) -> str:
    """``Cart.total`` of ``METHOD(Cart, total) {``; empty for a function of this name, and without a name in the arguments."""
    head = b"\n".join(lines[span.start - 1 : min(span.end, span.start + _MAX_ARGUMENT_LINES)])
    text = bytearray(LITERAL.sub(lambda found: blank(found[0]) if found[0][:1] == b"/" else found[0], head))
    match = re.compile(rb"\b" + macro.encode() + rb"\b").search(text)
    end = _arguments(text, match.end()) if match else 0
    if match is None or end == match.end() or text[end:].lstrip()[:1] not in (b"{", b"("):
        return ""
    before = _BEFORE.split(text[: match.start()])[-1]
    if not _LINKAGE.fullmatch(before) and text[end:].lstrip()[:1] != b"(":
        return ""  # void DRAW(Canvas) {
    inside = bytes(text[text.index(b"(", match.end()) + 1 : end - 1])
    names = [part.decode() for part in takewhile(_IDENTIFIER.fullmatch, map(bytes.strip, inside.split(b",")))]
    if _WITH_OWNER.search(macro):
        return "" if b'"' in inside else ".".join(names)
    return names[0] if names else ""


_RUST_MACRO = re.compile(rb"[\w:]+![ \t]*(?:\w+\s*)?(?P<open>[{(])")
_RUST_CONDITION = re.compile(rb"\}\s*else\s+if\s+#\[cfg\b[^\n{]*\]\s*\{|\}\s*else\s*\{|\bif\s+#\[cfg\b[^\n{]*\]\s*\{")


def open_macro(call: bytes) -> bytes:
    """What is in the braces of a Rust macro's call, if it may be items; without the conditions of ``cfg_if``."""
    match = _RUST_MACRO.match(call)
    end = call.rfind(b"}" if match and match["open"] == b"{" else b")")
    if match is None or end < match.end() or b"fn " not in call:
        return b""
    inside = call[match.end() : end]
    if b"proptest" in match[0]:  # fn f(x in 0..10, y in any::<u8>())
        inside = RUST_STRATEGIES.sub(blanked, inside)
    if call.startswith((b"cfg_if", b"::cfg_if")):
        inside = _RUST_CONDITION.sub(lambda part: blank(part[0]), inside)
        last = inside.rfind(b"}")
        inside = inside[:last] + b" " + inside[last + 1 :]
    return blank(match[0]) + inside + blank(call[end:])
