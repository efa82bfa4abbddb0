"""An observation as a page shows it: lines under the file they are of, and long stretches folded away."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from tasks.reporting.episodes.hits import Mark
from tasks.reporting.episodes.observed import Row

SHOWN = 9
"""Items at the top of an observation that are always seen."""
HITS_SHOWN = 8
"""Items on the truth that are seen further down."""
LEAST_FOLDED = 4


@dataclass(frozen=True)
class Item:
    """One line on the page: the heading of a file, a line of it, a file that was listed, or a note of the tool."""

    kind: Literal["heading", "line", "path", "note"]
    text: str
    number: int | None = None
    mark: Mark = ""

    @property
    def is_hit(self) -> bool:
        """Whether it shows what the patch changes as closely as it can: a line of a function, or a file that is listed."""
        return self.mark in ("function", "change") or (self.mark == "file" and self.kind == "path")


@dataclass(frozen=True)
class Segment:
    """Items that are seen, or that are folded into one line that says how many they are."""

    folded: bool
    items: Sequence[Item]

    @property
    def lines(self) -> int:
        """Lines of the observation among the items."""
        return sum(item.kind != "heading" for item in self.items)

    @property
    def hits(self) -> int:
        """Items among them on the truth."""
        return sum(item.is_hit for item in self.items)


def items(marked: Iterable[tuple[Row, Mark]]) -> list[Item]:
    """The rows of an observation, with a heading wherever another file begins."""
    found: list[Item] = []
    current: str | None = None
    for row, mark in marked:
        if row.path is None:
            current = current if row.text == "--" else None
            found.append(Item("note", row.text))
        elif row.line is None:
            current = None
            found.append(Item("path", f"{row.path}{f'  ({row.text})' if row.text else ''}", mark=mark))
        else:
            if row.path != current:
                found.append(Item("heading", row.path))
            current = row.path
            found.append(Item("line", row.text, row.line, mark))
    return found


def fold(shown: Sequence[Item]) -> list[Segment]:
    """Segments of all items in order. The first ones, the first on the truth and the last note are seen."""
    kept = _kept(shown)
    for run in _runs(range(len(shown)), kept):
        if len(run) < LEAST_FOLDED:
            kept.update(run)
    return [Segment(run[0] not in kept, [shown[index] for index in run]) for run in _runs(range(len(shown)), kept)]


def _runs(indices: Iterable[int], kept: set[int]) -> list[list[int]]:
    """Neighbours that are all kept, or all not."""
    return [list(run) for _, run in groupby(indices, key=lambda index: index in kept)]


def _kept(shown: Sequence[Item]) -> set[int]:
    hits = [index for index, item in enumerate(shown) if item.is_hit][:HITS_SHOWN]
    kept = {*range(min(SHOWN, len(shown))), *hits, *(_heading(shown, index) for index in hits)}
    if shown and shown[-1].kind == "note":
        kept.add(len(shown) - 1)
    return kept


def _heading(shown: Sequence[Item], index: int) -> int:
    """Where the heading above an item stands; the item itself where there is none."""
    return next((above for above in range(index, -1, -1) if shown[above].kind == "heading"), index)
