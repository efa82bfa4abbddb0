"""What a repository's issue forms put into every issue: questions, hints and boxes, which say nothing about where a fault is."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from itertools import islice

from fusesearch.core.errors import FusesearchError
from fusesearch.search.repository import Repository

FORMS = {".github/ISSUE_TEMPLATE": r".*\.(?:md|ya?ml)", ".github": r"issue_template\.md"}
"""The files that are forms, by their folders."""
MAX_FORMS, MAX_CHARS = 30, 60_000
LEAST_CHARS = 4
_KEY = re.compile(r"^[\s-]*(?:label|value|placeholder|description|options)\s*:\s*")
_MARKS = re.compile(r"^[\s#>*_-]*(?:\[[ xX]?\])?[\s\"'|]*|[\s\"'*_:]*$")


def without_forms(issue: str, repository: Repository) -> str:
    """The issue without the lines after its title that the forms of the tree have, too."""
    rows = [row for text in _forms(repository) for row in text.splitlines()]
    known = {_plain(line) for row in rows for line in (row, _KEY.sub("", row))}
    if not known:
        return issue
    title, *rest = issue.strip().splitlines() or [""]
    return "\n".join([title, *(line for line in rest if len(plain := _plain(line)) < LEAST_CHARS or plain not in known)])


def _plain(line: str) -> str:
    return _MARKS.sub("", line).lower()


def _forms(repository: Repository) -> list[str]:
    found: list[str] = []
    for folder, pattern in FORMS.items():
        with suppress(OSError):
            names = sorted(row.name for row in islice(os.scandir(repository.root / folder), 1000))
            forms = [name for name in names if re.fullmatch(pattern, name, re.IGNORECASE)][:MAX_FORMS]
            for name in forms:
                with suppress(FusesearchError):  # a link to outside, a folder
                    found.append(repository.read_text(f"{folder}/{name}")[:MAX_CHARS])
    return found
