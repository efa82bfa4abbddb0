"""Find the issues that a text closes: GitHub's keywords before ``#12``, ``owner/name#12`` or an issue's address."""

from __future__ import annotations

import re

MAX_CHARS = 200_000
"""Characters of a text that are searched."""

_KEYWORD = r"(?<![\w-])(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b:?"
_NAME = r"[A-Za-z0-9][\w-]{0,99}/[\w.-]{1,100}"
_LINK = re.compile(
    rf"{_KEYWORD}[ \t]+(?:(?P<repo>{_NAME})?#|https?://[\w.-]+(?::\d+)?/(?P<path>{_NAME})/issues/)(?P<number>[1-9]\d{{0,8}})\b",
    re.IGNORECASE | re.ASCII,
)
_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_CODE = re.compile(r"^(```|~~~).*?(?:^\1|\Z)|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_SUBJECT = re.compile(r"\(#([1-9]\d{0,8})\)\s*$")


def closing_links(text: str | None, repo: str) -> list[int]:
    """Numbers of the issues of ``repo`` that ``text`` closes, in order without repeats.

    Ignores HTML comments, code, and issues of other repositories.
    """
    visible = _CODE.sub(" ", _HIDDEN.sub(" ", (text or "")[:MAX_CHARS]))
    found: dict[int, None] = {}
    for match in _LINK.finditer(visible):
        other = match["repo"] or match["path"]
        if other is None or other.casefold() == repo.casefold():
            found[int(match["number"])] = None
    return list(found)


def pull_number(subject: str) -> int | None:
    """The pull request number at the end of a squash commit's subject, written by GitHub as ``(#12)``."""
    match = _SUBJECT.search(subject)
    return int(match[1]) if match else None
