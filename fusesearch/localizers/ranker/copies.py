"""Files that a program wrote from other files: installed and built copies, generated code. Their sources are elsewhere.

A path tells some of them (:func:`~fusesearch.localizers.ranker.paths.is_copy`), a comment at their top others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from fusesearch.core.errors import OutsideRootError, ToolError
from fusesearch.core.stopping import checked
from fusesearch.localizers.ranker.paths import is_copy
from fusesearch.search.repository import Repository

HEAD_BYTES = 2048

_COMMENT = re.compile(r"[ \t]*(?://|#|/?\*|--|;|%|<!--|\"\"\"|\(\*|<\?php|['\"]use strict['\"]|$)")
_BANNER = re.compile(
    r"@generated\b|<auto-?generated\b|\bauto(?:matically)?[ -]?generated\s+(?:by|from|with|using)\b"
    r"|\bgenerated\b.{0,200}?\bdo not (?:hand-?)?(?:edit|modify|change)\b"
    r"|\bdo not (?:hand-?)?(?:edit|modify|change)\b.{0,200}?\bgenerated\b",
    re.IGNORECASE | re.DOTALL,
)


def copies_among(paths: Iterable[str], repository: Repository) -> frozenset[str]:
    """Those of the files that a program wrote."""
    return frozenset(path for path in checked(paths) if is_copy(path) or _joined(path) or has_banner(path, repository))


def _joined(path: str) -> bool:
    """Whether a C++ header joins those of its library: it has the path of the one that includes them, so no path of a copy."""
    return path.startswith("single_include/") or "/single_include/" in path


def has_banner(path: str, repository: Repository) -> bool:
    """Whether a comment at the top of a file says that a program wrote it."""
    try:
        head = repository.read_listed(path, HEAD_BYTES).decode("utf-8", "replace")
    except (ToolError, OutsideRootError):
        return False
    return "generated" in head.lower() and _BANNER.search(" ".join(_opening(head))) is not None


def _opening(text: str) -> Iterator[str]:
    """The lines of the comments at the top of a file, without their marks."""
    inside = False  # a comment of several lines
    for line in text.split("\n"):
        if not inside and not _COMMENT.match(line):
            return
        inside = (inside or "/*" in line) and "*/" not in line
        yield line.strip('/*#-;%!()" \t\r')
