"""The example code of an issue: which statement fails, and which names it calls."""

from __future__ import annotations

import builtins
import keyword
import re
from dataclasses import dataclass

from fusesearch.localizers.lexical.clues import IDENTIFIER
from fusesearch.localizers.lexical.stopwords import COMMON_NAMES

PROMPT_LINE = re.compile(r"^>>> ?(.*)$", re.M)
_PYTHON_FENCE = re.compile(r"^(?:```|~~~) ?(?:python3?|py|pycon)[ \t]*$(.*?)^(?:```|~~~)", re.M | re.S)
_CALL = re.compile(rf"(?P<owner>(?:{IDENTIFIER}\.)*)(?P<name>{IDENTIFIER})\(")
_ATTRIBUTE = re.compile(rf"[\w)\]]\.(?P<name>{IDENTIFIER})(?![\w(.])")
_ASSIGNED = re.compile(rf"^({IDENTIFIER})\s*=\s*(?:{IDENTIFIER}\.)*({IDENTIFIER})\(")
_BOUND = re.compile(rf"^({IDENTIFIER}(?:\s*,\s*{IDENTIFIER})*)\s*=[^=]|\bas\s+({IDENTIFIER})|\bfor\s+({IDENTIFIER})\s+in\b")
_IMPORTED = re.compile(r"^from\s+[\w.]+\s+import\s+([\w, ]+)")
_STRING = re.compile(r"\"[^\"]*\"|'[^']*'")
_IN_PROSE = re.compile(rf"`((?:{IDENTIFIER}\.)*{IDENTIFIER})(?:\(\))?`|\b((?:{IDENTIFIER}\.)*{IDENTIFIER})\(")


@dataclass(frozen=True)
class Mention:
    """A name the example uses, with the class or module it is used through, if any."""

    name: str
    owner: str | None = None


def statements_of(text: str) -> list[str]:
    """First lines of the statements in an issue's example, in order; empty without an example."""
    prompts = PROMPT_LINE.findall(text)
    if prompts:
        return prompts
    fences = _PYTHON_FENCE.findall(text)
    lines = fences[-1].strip("\n").split("\n") if fences else []
    return [line for line in lines if line and not line[0].isspace() and not line.startswith((")", "]", "}", "#"))]


def calls_in_prose(text: str) -> list[str]:
    """Names between backticks or before a parenthesis as calls, the first at the end: for an issue without an example."""
    return [f"{quoted or called}()" for quoted, called in reversed(_IN_PROSE.findall(text))]


def mentions_of(statements: list[str]) -> list[Mention]:
    """Names the example calls: those of the last statement, then classes of its variables, then the rest."""
    if not statements:
        return []
    classes = {variable: name for line in statements for variable, name in _ASSIGNED.findall(line)}
    last = _used(statements[-1], classes)
    owners = [Mention(mention.owner) for mention in last if mention.owner and mention.owner[0].isupper()]
    imported = [Mention(name.strip()) for line in statements for names in _IMPORTED.findall(line) for name in names.split(",")]
    in_last = [mention for mention in imported if re.search(rf"\b{re.escape(mention.name)}\b(?!\.)", statements[-1])]
    earlier = [mention for line in reversed(statements[:-1]) for mention in _used(line, classes)]
    bound = {name for line in statements for groups in _BOUND.findall(line) for name in re.findall(r"\w+", " ".join(groups))}
    wanted = {mention.name for mention in imported}
    found: dict[str, Mention] = {}
    for mention in [*last, *in_last, *owners, *earlier]:
        if mention.name in wanted or mention.owner in classes.values() or not (mention.name in bound or is_common(mention.name)):
            found.setdefault(mention.name, mention)
    return list(found.values())


def is_common(name: str) -> bool:
    """Whether a name is part of the language or in general use."""
    return len(name) < 2 or keyword.iskeyword(name) or hasattr(builtins, name) or name in COMMON_NAMES


def _used(statement: str, classes: dict[str, str]) -> list[Mention]:
    """Methods called on results, then other calls, then attributes."""
    if statement.startswith(("from ", "import ")):
        return []
    code = _STRING.sub("''", statement)
    calls = [(Mention(m["name"], _owner(m["owner"], classes)), code[m.start() - 1 : m.start()]) for m in _CALL.finditer(code)]
    chained = [mention for mention, before in reversed(calls) if before == "."]
    plain = [mention for mention, before in calls if before != "."]
    return chained + plain + [Mention(m["name"]) for m in _ATTRIBUTE.finditer(code)]


def _owner(dotted: str, classes: dict[str, str]) -> str | None:
    holder = dotted.rstrip(".").rpartition(".")[2]
    return classes.get(holder, holder) or None
