"""The interface of a source of raw pairs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from fusesearch.core.schema import Instance
from fusesearch.core.storage import Progress


class Mined(NamedTuple):
    """Raw pairs in a fixed order, and a table of what was kept and dropped.

    ``table`` has at least ``repositories`` (rows), ``dropped`` (counts by reason) and ``skipped`` (repository to reason).
    """

    instances: Iterable[Instance]
    table: dict[str, Any]


class Source(Protocol):
    """A source of raw pairs; one file or folder here each."""

    def mine(self, repos_dir: Path, progress: Progress) -> Mined:
        """Mine pairs, and put a bare clone of each repository at ``repos_dir/<owner>__<name>.git``.

        Each clone contains the base commits of all pairs with all files, so that later stages need no network.
        """
        ...
