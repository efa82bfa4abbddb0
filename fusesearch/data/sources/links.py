"""Find the issues that a text closes: GitHub's keywords before ``#12``, ``GH-12``, ``owner/name#12`` or an issue's address."""

from __future__ import annotations

import re

MAX_CHARS = 200_000
"""Characters of a text that are searched."""

_KEYWORD = r"(?<![\w-])(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b:?"
_NAME = r"[A-Za-z0-9][\w-]{0,99}/[\w.-]{1,100}"
_LINK = re.compile(
    rf"{_KEYWORD}[ \t]+(?:(?P<repo>{_NAME})?#|GH-|https?://[\w.-]+(?::\d+)?/(?P<path>{_NAME})/issues/)(?P<number>[1-9]\d{{0,8}})\b",
    re.IGNORECASE | re.ASCII,
)
_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_CODE = re.compile(r"^(```|~~~).*?(?:^\1|\Z)|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_SUBJECT = re.compile(r"\(#([1-9]\d{0,8})\)\s*$")


def links(text: str | None, repo: str) -> list[tuple[str, int]]:
    """Repository and number of the issues that ``text``, written in ``repo``, closes, in order without repeats.

    Ignores HTML comments and code.
    """
    visible = _CODE.sub(" ", _HIDDEN.sub(" ", (text or "")[:MAX_CHARS]))
    found = [(match["repo"] or match["path"] or repo, int(match["number"])) for match in _LINK.finditer(visible)]
    return list(dict.fromkeys((repo if name.casefold() == repo.casefold() else name, number) for name, number in found))


def closing_links(text: str | None, repo: str) -> list[int]:
    """Numbers of the issues of ``repo`` that ``text`` closes."""
    return [number for name, number in links(text, repo) if name == repo]


def pull_number(subject: str) -> int | None:
    """The pull request number at the end of a squash commit's subject, written by GitHub as ``(#12)``."""
    match = _SUBJECT.search(subject)
    return int(match[1]) if match else None
