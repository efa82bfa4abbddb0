"""What every source of raw pairs gives."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tasks.core.schema import Instance
from tasks.core.storage import Progress


class Mined(NamedTuple):
    """Raw pairs in a fixed order, and what was tried, kept and dropped.

    ``table`` holds at least ``repositories`` (rows), ``dropped`` (counts by reason) and ``skipped`` (repository to reason).
    """

    instances: Iterable[Instance]
    table: dict[str, Any]


class Source(Protocol):
    """Where raw pairs come from. One file or folder here per source."""

    def mine(self, repos_dir: Path, progress: Progress) -> Mined:
        """Mine, with a bare repository per repository at ``repos_dir/<owner>__<name>.git``.

        Each of them holds the base commit of every pair with all its files, so that later stages need no network.
        """
        ...
