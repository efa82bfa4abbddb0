"""Which functions the body of a function calls, as far as it was read."""

from __future__ import annotations

import builtins
import keyword
import re

from fusesearch.localizers.lexical.evidence import Definition, Evidence
from fusesearch.localizers.lexical.stopwords import word_set

_CALL = re.compile(r"(?P<owner>(?:[A-Za-z_]\w*\.)*)(?P<name>[A-Za-z_]\w*)\(")
_QUOTES = re.compile(r"\"\"\"|'''")
_STATEMENT = re.compile(r"\s+(return\b|if .*:$|for .*:$|raise |[A-Za-z_][\w.]* = )")
_EXTERNAL = word_set("np numpy math os re sys itertools functools operator warnings collections random logging json time")
_COMMON = word_set(
    """
    append extend insert remove pop add update get items keys values join split strip format replace startswith endswith
    copy sort index count lower upper encode decode setdefault discard clear reverse rstrip lstrip warn
    """
)


def callees(evidence: Evidence, caller: Definition) -> list[str]:
    """Names called in the seen lines of ``caller``, in order, without builtins and methods of common types."""
    found: list[str] = []
    for text in code_of(evidence.text_of(caller)):
        for match in _CALL.finditer(text):
            owner, name = match["owner"].rstrip("."), match["name"]
            if owner.partition(".")[0] in _EXTERNAL or name == caller.name or keyword.iskeyword(name):
                continue
            if hasattr(builtins, name) or name.startswith("__") or (owner and name in _COMMON):
                continue
            if name.endswith(("Error", "Exception", "Warning")):
                continue
            found.append(name)
    return list(dict.fromkeys(found))


def code_of(seen: list[tuple[int, str]]) -> list[str]:
    """Lines of a definition's body without docstring, comments and blank lines.

    ``seen`` are numbered lines from the ``def`` line on. After a gap in the numbers, the quotes show whether the lines begin
    inside the docstring.
    """
    starts = [i for i in range(1, len(seen)) if seen[i][0] > seen[i - 1][0] + 1]
    body = [text for _, text in seen[starts[-1] if starts else 1 :]]
    quotes = [i for i, text in enumerate(body) if _QUOTES.search(text)]
    if starts and sum(len(_QUOTES.findall(body[i])) for i in quotes) % 2 == 1:
        body = body[quotes[0] + 1 :]
    elif starts and not quotes and not any(_STATEMENT.match(text) for text in body):
        return []  # no line looks like a statement: the middle of a docstring
    return [text for text in _without_docstring(body) if text.strip() and not text.lstrip().startswith("#")]


def _without_docstring(body: list[str]) -> list[str]:
    kept: list[str] = []
    quote: str | None = None
    for text in body:
        if quote:
            quote = None if quote in text else quote
            continue
        opening = re.match(r"\s*[rRuUbB]?(\"\"\"|''')", text)
        if opening:
            quote = None if opening[1] in text[opening.end() :] else opening[1]
            continue
        kept.append(text.partition("  #")[0])
    return kept
