"""Excerpts of files that fit into a budget of tokens, and the page that they make.

A token is counted as four bytes of UTF-8, of everything that is printed. The same tree and text give the same page.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from fusesearch.code.heads import head, signature
from fusesearch.core.schema import Context, Excerpt, ExcerptKind, Location, Place
from fusesearch.core.text import printable
from fusesearch.localizers.ranker.neighbours import Neighbours, Spot

BYTES_PER_TOKEN = 4
LONG = 1 / 3
"""Most of the page for a body that is not the first. A longer one is cut, unless less than half of that is left."""

BESIDE = 2
"""Lines kept on each side of a line that matters."""

_RUN = "## Tests to run"
_GAP_BYTES = 48  # most that the mark of one gap takes
_TITLES: dict[ExcerptKind, str] = {
    "function": "",
    "definition": "",
    "caller": "Lines that call or use {}",
    "impact": "Callers of callers, {} calls away",
    "callee": "{} calls",
    "use": "Perhaps uses of {}, by the name alone",
    "test": "Tests with {}",
    "outline": "Outline of {}",
}
"""Kinds of excerpts in the order of the page. A definition in full has a title of its own."""


def tokens_of(text: str) -> int:
    """The estimate that budgets count by: a token for every four bytes of UTF-8."""
    return math.ceil(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN)


class Page:
    """Excerpts below titles, in at most ``budget`` tokens with the ``note`` above them."""

    def __init__(self, code: Neighbours, budget: int, note: str = "") -> None:
        self._code, self._budget, self._note = code, budget, note
        self._whole, self._used = budget * BYTES_PER_TOKEN, _bytes(note)
        self._groups: dict[str, list[Excerpt]] = {}
        self._shown: set[tuple[str, tuple[int, int]]] = set()

    @property
    def left(self) -> float:
        """The share of the page that is empty."""
        return 1 - self._used / self._whole

    def fill(self, excerpts: Iterable[Excerpt], share: float = 1) -> None:
        """Add those that are allowed, that nothing else shows, and that fit into this share of the page."""
        for one in excerpts:
            place, title = (one.path, one.lines), _title(one)
            used = self._used + _bytes(_row(one)) + (0 if title in self._groups else _bytes(title) + 1)
            if place not in self._shown and used <= share * self._whole and self._code.index.repository.allowed(one.path):
                self._groups.setdefault(title, []).append(one)
                self._groups[title].sort(key=lambda one: one.lines if one.kind == "outline" else (0, 0))
                self._shown.add(place)
                self._used = used
            if self._used + _GAP_BYTES / 2 > share * self._whole:
                break  # the rest is not even looked for

    def body(
        self, kind: ExcerptKind, spot: Spot, share: float, place: Location | None = None,
        weight: Callable[[int], float] = lambda line: 0,
    ) -> bool:  # fmt: skip
        """Add a definition in full; if it is long, the lines of it that matter, by their ``weight``. Whether it is shown."""
        spot = spot._replace(span=replace(spot.span, end=min(spot.span.end, len(self._code.lines(spot.path)))))
        most = min(share, 1 - self.left + LONG) if self._groups else share
        found = self._body(kind, spot, range(spot.span.start, spot.span.end + 1), place)
        room = most * self._whole - self._used - _bytes(_title(found)) - 1
        if _bytes(found.text) > room and (room > LONG / 2 * self._whole or not self._groups):
            found = self._body(kind, spot, self._cut(spot, room - _GAP_BYTES, weight), place)
        self.fill([found] if found.shown else [], most)
        return (found.path, found.lines) in self._shown

    def line(self, kind: ExcerptKind, spot: Spot, of: str = "", number: int = 0, place: Place | None = None) -> Excerpt:
        """A line of a function, or its head on one line."""
        lines, start, end = self._code.lines(spot.path), spot.span.start, spot.span.end
        shown, text = ((number, number), lines[number - 1]) if number else (head(lines, start, end), signature(lines, start, end))
        return Excerpt(kind=kind, shown=[shown], text=text, of=of, **_of(spot, place))

    def context(self, tests: Sequence[str] = ()) -> Context:
        """All of it, and below it as many of the files of ``tests`` as fit."""
        groups = sorted(self._groups.items(), key=lambda group: [*_TITLES].index(group[1][0].kind))
        parts = [self._note, *("\n".join([title, *map(_row, some)]) for title, some in groups)]
        sizes = accumulate((_bytes(shlex.quote(test)) for test in tests), initial=self._used + _bytes(_RUN) + 1)
        run = [test for test, _ in zip(tests, [size for size in sizes if size <= self._whole][1:], strict=False)]
        parts += [f"{_RUN}\n{' '.join(map(shlex.quote, run))}"] if run else []
        text, excerpts = "\n\n".join(filter(None, parts)), [one for _, some in groups for one in some]
        return Context(excerpts=excerpts, run=run, text=text, tokens=tokens_of(text), budget=self._budget)

    def _cut(self, spot: Spot, room: float, weight: Callable[[int], float]) -> set[int]:
        """The lines of a long body that fit: heads first, then those that are near to what matters."""
        lines, inside = self._code.lines(spot.path), range(spot.span.start, spot.span.end + 1)
        spans = [spot.span, *(one for one in self._code.functions(spot.path) if one.start in inside)]
        heads = {line for one in spans for line in range(one.start, head(lines, one.start, one.end)[1] + 1)}
        weights, kept = {line: weight(line) for line in inside}, set[int]()
        near = {line: max(weights.get(line + by, 0) for by in range(-BESIDE, BESIDE + 1)) for line in inside}
        for line in sorted(inside, key=lambda line: (line not in heads, -near[line], line)):
            room -= _bytes(lines[line - 1]) + (0 if {line - 1, line + 1} & kept else _GAP_BYTES)
            if room < 0:
                break
            kept.add(line)
        return kept

    def _body(self, kind: ExcerptKind, spot: Spot, kept: Collection[int], place: Location | None) -> Excerpt:
        """The lines that are kept, with a mark for each gap."""
        lines, before, rows = self._code.lines(spot.path), spot.span.start - 1, list[str]()
        starts, ends = ([line for line in sorted(kept) if line + step not in kept] for step in (-1, 1))
        shown = [*zip(starts, ends, strict=True)]
        for first, last in [*shown, (spot.span.end + 1, spot.span.end)]:
            rows += [f"... lines {before + 1}-{first - 1} are left out"] if first > before + 1 else []
            rows += lines[first - 1 : last]
            before = last
        return Excerpt(kind=kind, shown=shown, text="\n".join(rows), **_of(spot, place))


def _of(spot: Spot, place: Location | Place | None) -> dict[str, Any]:
    sure = {"confidence": place.confidence, "reasons": place.reasons} if place else {}
    return sure | {"path": spot.path, "function": spot.span.name or None, "lines": (spot.span.start, spot.span.end)}


def _title(one: Excerpt) -> str:
    sure = f" ({'; '.join([f'{one.confidence:.0%}', *one.reasons])})" if one.confidence is not None else ""
    where = f"{one.path}:{one.lines[0]}-{one.lines[1]}  {one.function or 'the file'}"
    return "## " + printable((_TITLES[one.kind].format(one.of) or where) + sure)


def _row(one: Excerpt) -> str:
    if not _TITLES[one.kind]:
        return one.text
    path = "" if one.kind == "outline" else f"{one.path}:"
    return f"{printable(f'{path}{one.shown[0][0]}  {one.function or str()}'.rstrip())}: {one.text.strip()}"


def _bytes(line: str) -> int:
    return len(line.encode("utf-8", "replace")) + 1
