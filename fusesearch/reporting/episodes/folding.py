"""An observation as a page shows it: lines under the heading of their file, with long stretches folded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from fusesearch.reporting.episodes.observed import Line, Mark

SHOWN = 9
"""How many items at the top of an observation are always visible."""
HITS_SHOWN = 8
"""How many items on the truth are visible further down."""
LEAST_FOLDED = 4


@dataclass(frozen=True)
class Item:
    """One line on the page: the heading of a file, a line of it, a listed file, or a note of the tool."""

    kind: Literal["heading", "line", "path", "note"]
    text: str
    number: int | None = None
    mark: Mark = ""

    @property
    def is_hit(self) -> bool:
        """Whether it shows the patch's changes as closely as it can: a line of a function, or a listed file."""
        return self.mark in ("function", "change") or (self.mark == "file" and self.kind == "path")


@dataclass(frozen=True)
class Segment:
    """Visible items, or items folded into one line with their number."""

    folded: bool
    items: Sequence[Item]

    @property
    def lines(self) -> int:
        """Lines of the observation among the items."""
        return sum(item.kind != "heading" for item in self.items)

    @property
    def hits(self) -> int:
        """How many items are on the truth."""
        return sum(item.is_hit for item in self.items)


def items(marked: Iterable[tuple[Line, Mark]]) -> list[Item]:
    """The rows of an observation, with a heading where another file starts."""
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


def fold(every: Sequence[Item]) -> list[Segment]:
    """Segments of all items in order. The first items, the first on the truth and the last note stay visible."""
    visible = _visible(every)
    for run in _runs(len(every), visible):
        if len(run) < LEAST_FOLDED:
            visible.update(run)
    return [Segment(run[0] not in visible, [every[index] for index in run]) for run in _runs(len(every), visible)]


def _runs(count: int, visible: set[int]) -> list[list[int]]:
    """Runs of neighbours that are all visible, or all folded."""
    return [list(run) for _, run in groupby(range(count), key=lambda index: index in visible)]


def _visible(every: Sequence[Item]) -> set[int]:
    hits = [index for index, item in enumerate(every) if item.is_hit][:HITS_SHOWN]
    visible = {*range(min(SHOWN, len(every))), *hits}
    for index in hits:
        visible.add(next((above for above in range(index, -1, -1) if every[above].kind == "heading"), index))
    if every and every[-1].kind == "note":
        visible.add(len(every) - 1)
    return visible
