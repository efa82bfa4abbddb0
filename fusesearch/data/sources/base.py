"""What sources of raw pairs have in common: their interface, names of repositories, times."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from fusesearch.core.schema import Instance
from fusesearch.core.storage import Progress

REPOSITORY = re.compile(r"[A-Za-z0-9][\w-]{0,99}/(?!\.{1,2}\Z)[\w.-]{1,100}", re.ASCII)
"""``owner/name``."""
TRIES = 3
"""How often a remote is asked that fails."""


class Mined(NamedTuple):
    """Raw pairs in a fixed order, and a table of what was kept and dropped.

    ``table`` has at least ``repositories`` (rows), ``dropped`` (counts by reason) and ``skipped`` (repository to reason). It is
    as repeatable as the pairs; ``figures`` is what a clock decides.
    """

    instances: Iterable[Instance]
    table: dict[str, Any]
    figures: Mapping[str, Any] = MappingProxyType({})


class Source(Protocol):
    """A source of raw pairs; one file or folder here each."""

    def mine(self, repos_dir: Path, progress: Progress) -> Mined:
        """Mine pairs, and put a bare clone of each repository at ``repos_dir/<owner>__<name>.git``.

        Each clone contains the base commits of all pairs with all files, so that later stages need no network.
        """
        ...


def moment(value: Any) -> datetime | None:
    """A time in ISO 8601 as UTC, which it is in unless it says otherwise; None for anything else."""
    try:
        when = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
        return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
