"""Which functions a body that was read calls."""

from __future__ import annotations

import builtins
import keyword
import re

from tasks.localizers.lexical.evidence import Definition, Evidence
from tasks.localizers.lexical.stopwords import word_set

_CALL = re.compile(r"(?P<owner>(?:[A-Za-z_]\w*\.)*)(?P<name>[A-Za-z_]\w*)\(")
_EXTERNAL = word_set("np numpy math os re sys itertools functools operator warnings collections random logging json time")
_COMMON = word_set(
    """
    append extend insert remove pop add update get items keys values join split strip format replace startswith endswith
    copy sort index count lower upper encode decode setdefault discard clear reverse rstrip lstrip warn
    """
)


def callees(evidence: Evidence, caller: Definition) -> list[str]:
    """Names called in the seen lines of ``caller``, in order, without builtins and methods that any object has."""
    found: list[str] = []
    for text in code_lines([text for _, text in evidence.text_of(caller)[1:]]):
        for match in _CALL.finditer(text):
            owner, name = match["owner"].rstrip("."), match["name"]
            if owner.partition(".")[0] in _EXTERNAL or name == caller.name or _ordinary(name, owner):
                continue
            found.append(name)
    return list(dict.fromkeys(found))


def code_lines(body: list[str]) -> list[str]:
    """``body`` without docstrings and comments."""
    kept: list[str] = []
    quote: str | None = None
    for text in body:
        if quote:
            quote = None if quote in text else quote
            continue
        opening = re.match(r"\s*[rRuUbB]?(\"\"\"|''')", text)
        if opening:
            rest = text[opening.end() :]
            quote = None if opening[1] in rest else opening[1]
            continue
        kept.append(text.partition("  #")[0] if not text.lstrip().startswith("#") else "")
    return kept


def docstring_open(body: list[str]) -> bool:
    """Whether ``body`` ends inside a docstring."""
    return sum(text.count('"""') + text.count("'''") for text in body) % 2 == 1


def _ordinary(name: str, owner: str) -> bool:
    if keyword.iskeyword(name) or (owner and name in _COMMON):
        return True
    return hasattr(builtins, name) or name.endswith(("Error", "Exception", "Warning")) or name.startswith("__")
