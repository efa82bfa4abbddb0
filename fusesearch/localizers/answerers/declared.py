"""Lines that declare a name outside functions, by their form alone: constants, variables, members without a body, macros, types.

Languages whose functions are not known (:mod:`fusesearch.code.languages`) declare functions and classes so, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from fusesearch.code.plain import BRACED, C_FAMILY, SCALA, SCRIPTS
from fusesearch.code.spans import FunctionSpan

_TYPED = (
    r"(?!(?:return|throw|new|else|case|import|package|using|await|yield|goto|delete|in|is|typeof|from|export|extends|where)\b)"
)
_WORDS_BEFORE = rf"[ \t]*(?:{_TYPED}[\w@<>\[\],.?*&:]+[ \t]+)+[*&]*"
_AHEAD = r"[ \t]*(?:friend[ \t]+)?(?:class|struct|union|enum)[ \t]+NAME[ \t]*;"
_STATEMENT = r"(?:guard|if|while|for|else|case|switch|return|where|catch)\b"
_MODIFIERS = r"[ \t]*(?:[\w@()]+[ \t]+)*?"
_GO_TYPE = r"[\w.*\[\]{}]"
_RUBY_MAKERS = r"(?:[cm]?attr(?:ibute)?_\w+|alias_method|alias|define_method|scope|has_\w+|belongs_to)"
_PUBLIC = r"(?:pub(?:\([^)\n]*\))?[ \t]+)?"

UNKNOWN = (".dart", ".groovy")
"""Suffixes of languages whose functions are not known, where what holds a variable says whether it is local."""

_OTHERS = (
    ".ex", ".exs", ".lua", ".sh", ".bash", ".pl", ".pm", ".r", ".jl", ".clj", ".hs", ".erl", ".zig", ".nim", ".cr", ".gd",
    ".coffee",
)  # fmt: skip
_VARIABLE = re.compile(r"\b(?:val|var|let|final|const)\b")
_BLOCK = re.compile(
    r"\b(?:func|init|def|fun|if|guard|for|while|switch|else|do|try|catch|case|get|set|didSet|willSet)\b"
    r"|\bin\s*$|\)\s*(?:async\s*)?\{\s*$|=>\s*\{?\s*$"
)

Finder = Callable[[str, Sequence[str], Sequence[FunctionSpan], str], Iterator[int]]
"""Numbers of the lines of a file (its path, lines and functions) that declare a name."""

# each with NAME for the name: the suffixes, and how a line begins
_FORMS: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
    (
        C_FAMILY,
        (
            r"[ \t]*#[ \t]*define[ \t]+NAME\b",
            r"[ \t]*typedef\b(?!.*\{).*?\bNAME\b[ \t]*(?:;|\)[ \t]*\(|\[)",
            r"[ \t]*\}[ \t]*(?:\w+[ \t]*,[ \t]*)*\**NAME[ \t]*[;,]",
            r"[ \t]*using[ \t]+NAME[ \t]*=",
            rf"(?!extern\b|typedef\b|using\b|{_AHEAD}){_WORDS_BEFORE}NAME[ \t]*(?:\[[^\]\n]*\][ \t]*)*(?:;|=(?!=)|\{{)",
        ),
    ),
    (
        (".go",),
        (
            r"(?:var|const)[ \t]+(?:\w+,[ \t]*)*NAME\b",
            rf"[ \t]+(?:\w+,[ \t]*)*NAME(?:,[ \t]*\w+)*[ \t]+(?:{_GO_TYPE}+(?:[ \t]+`.*`)?[ \t]*$|(?:{_GO_TYPE}+[ \t]*)?=)",
            r"[ \t]+NAME(?:[ \t]*//.*)?$",
            r"[ \t]+NAME\([^{}]*$",
        ),
    ),
    (
        (".rs",),
        (
            rf"[ \t]*{_PUBLIC}(?:const|static(?:[ \t]+mut)?|type)[ \t]+NAME\b",
            r"[ \t]*macro_rules![ \t]*NAME\b",
            r"[ \t]*(?:(?:async|unsafe|const)[ \t]+)*fn[ \t]+NAME\b",
            rf"[ \t]+{_PUBLIC}NAME[ \t]*:[ \t]",
        ),
    ),
    (
        (".java", ".cs", ".dart", ".groovy"),
        (rf"{_WORDS_BEFORE}NAME[ \t]*(?:=(?![=])|;|\{{[ \t]*(?:get|set|$)|\(|<[^()\n]*>[ \t]*\()",),
    ),
    (
        (".kt", ".kts", ".swift", ".groovy", ".dart", *SCALA),
        (
            rf"(?![ \t]*{_STATEMENT}){_MODIFIERS}(?:val|var|let|typealias|type|def|fun|func|macro|given|associatedtype)[ \t]+"
            r"(?:<[^\n]*?>[ \t]*)?(?:[\w.<>?]+\.)?NAME\b",
        ),
    ),
    (
        (".swift",),
        (
            r"[ \t]*(?:indirect[ \t]+)?case[ \t]+(?:\w+(?:\([^)]*\))?,[ \t]*)*NAME\b",
            rf"{_MODIFIERS}(?:actor|extension)[ \t]+NAME\b",
        ),
    ),
    (
        SCRIPTS,
        (
            r"(?:(?:export|declare)[ \t]+)*(?:const|let|var)[ \t]+NAME\b",
            r"[ \t]*(?:(?:export|declare)[ \t]+)*(?:(?:const[ \t]+)?enum|type|namespace|function)[ \t]+NAME\b",
            r"[ \t]*export\b[^;\n]*\bas[ \t]+NAME\b",
            r"[ \t]*(?:module\.)?exports\.NAME[ \t]*=",
            r"[ \t]+(?:(?:public|private|protected|static|readonly|abstract|declare|override)[ \t]+)+NAME\b",
        ),
    ),
    (
        (".ts", ".tsx", ".mts", ".cts"),
        (
            r"[ \t]+(?:readonly[ \t]+)?NAME[?!]?[ \t]*:[^,\n]*$",
            r"[ \t]+NAME[?!]?(?:<[^\n]*?>)?\([^{}\n]*\)[ \t]*:[^{\n]*$",
        ),
    ),
    ((".vue", ".svelte"), (r"[ \t]+(?:async[ \t]+)?NAME\([^\n]*\)[ \t]*\{", r"[ \t]+(?:const|let|var)[ \t]+NAME\b")),
    (
        (".sql",),
        (
            r"(?i:[ \t]*create[ \t]+(?:or[ \t]+replace[ \t]+)?(?:\w+[ \t]+){1,3}?(?:if[ \t]+not[ \t]+exists[ \t]+)?"
            r"(?:\w+\.)?NAME\b)",
        ),
    ),
    ((".hs", ".elm"), (r"NAME[ \t]*::?[ \t]", r"(?:newtype|data|class|instance|type)[ \t]+(?:[^\n=]*[ \t])?NAME\b")),
    (
        (".ml", ".mli", ".fs", ".fsx"),
        (r"[ \t]*(?:let|val|type|module|and|member)[ \t]+(?:rec[ \t]+|inline[ \t]+)*(?:\w+\.)?NAME\b",),
    ),
    (
        (".php",),
        (
            r"[ \t]*(?:\w+[ \t]+)*const[ \t]+(?:\w+[ \t]+)?NAME\b",
            r"[ \t]*define\([ \t]*['\"]NAME['\"]",
            r"[ \t]*(?:(?:public|private|protected|static|readonly|var)[ \t]+)+(?:[\w?|\\]+[ \t]+)?\$NAME\b",
            r"[ \t]*(?:\w+[ \t]+)*function[ \t]+&?NAME[ \t]*\(",
            r"[ \t]*case[ \t]+NAME\b[^:\n]*;",
        ),
    ),
    (
        (".rb", ".rake"),
        (
            r"[ \t]*NAME[ \t]*(?:\|\|)?=(?![=~>])",
            rf"[ \t]*(?:\w+[ \t]+)?{_RUBY_MAKERS}\b[ \t(]*[^\n]*?\bNAME\b",
        ),
    ),
    (
        _OTHERS,
        (
            r"[ \t]*(?:(?:local|pub|export)[ \t]+)*(?:def\w*|function|fn|sub|proc|func|macro|@)[ \t]*(?:[\w.]+[.:])?NAME\b",
            r"(?:(?:local|pub|my|our|const|var|let)[ \t]+)*(?:\w+\.)?NAME[ \t]*(?:<-|:?=)(?!=)",
        ),
    ),
    (
        BRACED,
        (r"[ \t]+NAME[ \t]*(?:\(.*\)[ \t]*)?(?:=[ \t]*[^=\n]*)?[,;{]?[ \t]*(?://.*)?$",),  # a constant of an enum
    ),
]

_EXPORTED = r"export[ \t]+(?:declare[ \t]+)?(?:const|let|var)[ \t]+NAME\b"


def declaring(path: str, lines: Sequence[str], spans: Sequence[FunctionSpan], name: str) -> Iterator[int]:
    """Numbers of the lines outside ``spans`` that declare ``name``."""
    suffix = path[path.rfind(".") :].lower()
    pattern = _pattern(suffix, name)
    if pattern is None:
        return
    for number in outside(lines, spans):
        line = lines[number - 1]
        if (
            name in line
            and pattern.match(line)
            and not (suffix in UNKNOWN and _VARIABLE.search(line) and _is_local(lines, number))
        ):
            yield number


def prototyping(path: str, lines: Sequence[str], spans: Sequence[FunctionSpan], name: str) -> Iterator[int]:
    """Numbers of the lines that declare a function ``name`` of C or C++ without a body."""
    pattern = re.compile(rf"(?![ \t]*typedef\b){_WORDS_BEFORE}{re.escape(name)}[ \t]*\(")
    if path.lower().endswith(C_FAMILY):
        yield from (number for number in outside(lines, spans) if pattern.match(lines[number - 1]))


def exporting(path: str, lines: Sequence[str], spans: Sequence[FunctionSpan], name: str) -> Iterator[int]:
    """Numbers of the lines that export a constant ``name`` from a script."""
    if path.lower().endswith(SCRIPTS):
        pattern = re.compile(_EXPORTED.replace("NAME", re.escape(name)))
        yield from (number for number in outside(lines, spans) if pattern.match(lines[number - 1]))


def outside(lines: Sequence[str], spans: Sequence[FunctionSpan]) -> Iterator[int]:
    """Numbers of the lines in none of ``spans``, which are in order of their first line."""
    number = 1
    for span in spans:
        yield from range(number, min(span.start, len(lines) + 1))
        number = max(number, span.end + 1)
    yield from range(number, len(lines) + 1)


def within(lines: Sequence[str], numbers: Sequence[int], owner: str) -> list[int]:
    """Those of the lines that stand in something called ``owner``, by their indentation: those next to it, if there are some."""
    depths = {number: _depth(lines, number, owner) for number in numbers}
    nearest = min((depth for depth in depths.values() if depth), default=0)
    return [number for number in numbers if nearest and depths[number] == nearest]


def _depth(lines: Sequence[str], number: int, owner: str) -> int:
    """How many lines hold a line up to the one that names ``owner``; 0 if none does."""
    margin, depth = _margin(lines[number - 1]), 0
    named = re.compile(rf"(?<!\w){re.escape(owner)}(?!\w)")
    for line in reversed(lines[: number - 1]):
        if not margin:
            break
        if line.strip() and _margin(line) < margin and not line.lstrip().startswith(("{", ")", "}")):
            margin, depth = _margin(line), depth + 1
            if named.search(line):
                return depth
    return 0


def _is_local(lines: Sequence[str], number: int) -> bool:
    """Whether a variable stands in a function or a block, by the line that holds it."""
    margin = _margin(lines[number - 1])
    above = (line for line in reversed(lines[: number - 1]) if line.strip() and _margin(line) < margin)
    return bool(margin) and _BLOCK.search(next(above, "")) is not None


def _margin(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())


@lru_cache(maxsize=256)
def _pattern(suffix: str, name: str) -> re.Pattern[str] | None:
    forms = [form for suffixes, rows in _FORMS if suffix in suffixes for form in rows]
    whole = "|".join(form.replace("NAME", re.escape(name)) for form in forms)
    return re.compile(whole) if forms else None
