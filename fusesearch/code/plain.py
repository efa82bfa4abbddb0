"""Source without its comments and strings, and calls in it, by form alone: no parser is needed."""

from __future__ import annotations

import re
from collections.abc import Callable

C_FAMILY = (".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".m", ".mm")
SCRIPTS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte")
SCALA = (".scala", ".sc")
BRACED = (".java", ".cs", ".kt", ".kts", ".swift", *SCALA, ".groovy", ".dart", ".rs", *C_FAMILY)
HASHES = (".rb", ".rake", ".ex", ".exs", ".sh", ".bash", ".pl", ".pm", ".r", ".jl", ".py", ".php")
"""Suffixes of languages with comments after ``#``."""

DASHES = (".lua", ".sql", ".hs", ".elm")
"""Suffixes of languages with comments after ``--``, whose strings stay."""

RUBY = (".rb", ".rake")
"""Suffixes of languages whose calls may have no brackets."""

_CHARACTER = r"'(?:\\[^'\n]*|[^'\\\n])'"
_QUOTED = r"'(?:[^'\\\n]|\\.)*'"
_STRING = r"\"(?:[^\"\\\n]|\\.)*\""


def without_text(source: str, path: str) -> str:
    """A source with blanks in the place of its comments and strings, at equal length."""
    path = path.lower()
    if path.endswith(DASHES):
        return re.sub(r"--[^\n]*", lambda match: " " * len(match[0]), source)
    quoted = _CHARACTER if path.endswith((".go", *BRACED)) else _QUOTED
    comments = r"(?<![\w$])\#[^\n]*" if path.endswith(HASHES) else r"/\*.*?(?:\*/|\Z)|//[^\n]*"
    if path.endswith(".php"):
        comments += r"|/\*.*?(?:\*/|\Z)|//[^\n]*"
    blank: Callable[[re.Match[str]], str] = lambda match: re.sub(r"[^\n]", " ", match[0])  # noqa: E731
    return re.sub(rf"{comments}|{_STRING}|{quoted}", blank, source, flags=re.DOTALL)


_WORD = re.compile(
    r"(?<![\w@$])(?<!(?<!:):)(?P<receiver>(?<=\.)|(?<=&\.))?(?P<name>[^\W\d]\w*[?!]?)"
    r"(?P<after>\(|:(?!:)|[ \t]*(?:\|\||&&|[-+*/|&])?=(?![=~>]))?"
)
_BLOCK = re.compile(r"\|([^|\n]*)\|")
_HEAD = re.compile(r"\A(?:[^\n]*\n)*?[^\n]*\bdef[ \t]+[\w.?!=]+[ \t]*(\([^()]*\)|[^\n]*)")


TYPES = r"(?:(?:::)?<[^<>;(){}]*(?:<[^<>;(){}]*>[^<>;(){}]*)*>)?"
"""Type arguments of a call, if it has some."""
_SCALA_TYPES = r"(?:\[[^\[\];(){}]*(?:\[[^\[\];(){}]*\][^\[\];(){}]*)*\])?"

TRAILING = (".kt", ".kts", ".swift", *SCALA, ".groovy")
"""Suffixes of languages whose calls may have a function in braces instead of brackets."""


CONSTRUCTORS = ("__init__", "__new__", "constructor", "initialize", "__construct")
CONSTRUCTORS_OF = {".swift": ("init",), **dict.fromkeys(SCALA, ("apply",))}


def callable_name(path: str, name: str) -> str:
    """The name by which a function is called: a constructor by that of its class."""
    *holders, last = name.split(".")
    made = holders and last in (*CONSTRUCTORS, *CONSTRUCTORS_OF.get(path[path.rfind(".") :], ()))
    return holders[-1] if made else last


_HEADS = r"\b(?:class|interface|object|struct|enum|extension|actor|protocol|trait)\b(?=[ \t]+[\w:])"
_SWIFT_NO_CALL = re.compile(rf"(?:->|\bvar[ \t]+[\w`]+[ \t]*:|{_HEADS})[^\n={{(]{{0,300}}(?=\{{)")
_NO_CALL = re.compile(rf"(?:\)[ \t]*:|{_HEADS})[^\n={{(]{{0,300}}(?=\{{)")
_SCALA_NO_CALL = re.compile(rf"{_NO_CALL.pattern}|\bcase\b(?![ \t]+(?:class|object)\b)[^\n]{{0,500}}?(?==>|\bif\b)")
"""Types before a brace, which may be no call with a block, and Scala's patterns."""


def without_types(text: str, path: str) -> str:
    """A source of :func:`without_text` with blanks in the place of types that look like calls."""
    if not path.endswith(TRAILING):
        return text
    types = _SWIFT_NO_CALL if path.endswith(".swift") else _SCALA_NO_CALL if path.endswith(SCALA) else _NO_CALL
    return types.sub(lambda match: " " * len(match[0]), text)


def opening(path: str) -> str:
    """A pattern of what follows the name that is called, in a language whose calls need that."""
    types = _SCALA_TYPES if path.endswith(SCALA) else TYPES
    if path.endswith(".swift"):
        return rf"[ \t]?[?!]?{types}(?:[ \t]?[({{]|\.init\b)"
    return rf"[ \t]?[?!]?{types}[ \t]?[({{]" if path.endswith(TRAILING) else rf"[ \t]?[?!]?{types}[ \t]?\("


def ruby_calls(text: str) -> list[str]:
    """Names that a function of Ruby may call, in order: no symbols, variables, keys, parameters, comments and strings."""
    text = without_text(text, ".rb")
    head = _HEAD.match(text)
    local = {name for match in _BLOCK.finditer(text) for name in re.findall(r"\w+", match[1])}
    local |= set(re.findall(r"\w+", head[1])) if head else set()
    local |= {
        match["name"] for match in _WORD.finditer(text) if (match["after"] or "").endswith("=") and match["receiver"] is None
    }
    found = [
        match["name"]
        for match in _WORD.finditer(text, head.end() if head else 0)
        if (match["after"] or "(") == "(" and (match["name"] not in local or match["after"] or match["receiver"] is not None)
    ]
    return list(dict.fromkeys(found))
