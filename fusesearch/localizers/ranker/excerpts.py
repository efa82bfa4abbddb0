"""Excerpts of files that fit into a budget of tokens, and the page that they make.

A token is counted as four bytes of UTF-8, of everything that is printed. The same tree and text give the same page.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, islice

from fusesearch.code.heads import head, signature
from fusesearch.code.spans import FunctionSpan
from fusesearch.core.schema import Context, Excerpt, ExcerptKind, Location, Place
from fusesearch.core.text import printable
from fusesearch.localizers.ranker.neighbours import Neighbours, Use

Weight = Callable[[int], float]
"""How much a line matters."""

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
                if one.kind == "outline":
                    self._groups[title].sort(key=lambda one: one.lines)
                self._shown.add(place)
                self._used = used
            if self._used + _GAP_BYTES / 2 > share * self._whole:
                break  # the rest is not even looked for

    def body(self, kind: ExcerptKind, place: Location, share: float, weight: Weight = lambda line: 0) -> None:
        """Add a definition in full; if it is long, the lines of it that matter, by their ``weight``."""
        lines = self._code.lines(place.path)
        first, last = place.lines or (1, len(lines))
        span = FunctionSpan(first, min(last, len(lines)), place.function or "")
        most = min(share, 1 - self.left + LONG) if self._groups else share
        room = most * self._whole - self._used
        whole = _made(kind, place.path, span, [(span.start, span.end)], "\n".join(lines[span.start - 1 : span.end]), place=place)
        size = _bytes(_title(whole)) + _bytes(whole.text) + 1
        if size > room and (room > LONG / 2 * self._whole or not self._groups):
            shown, text = self._cut(place.path, span, room - _bytes(_title(whole)) - _GAP_BYTES, weight)
            whole = _made(kind, place.path, span, shown, text, place=place)
        self.fill([whole] if whole.text else [], most)

    def _cut(self, path: str, span: FunctionSpan, room: float, weight: Weight) -> tuple[list[tuple[int, int]], str]:
        """The lines of a long body that fit, with marks for gaps: heads, then those that are near to what matters."""
        lines, inside = self._code.lines(path), range(span.start, span.end + 1)
        inner = [one for one in self._code.functions(path) if span.start < one.start <= span.end]
        heads = [head(lines, one.start, one.end) for one in (span, *inner)]
        weights = {line: weight(line) for line in inside}
        near = {line: max(weights.get(line + by, 0) for by in range(-BESIDE, BESIDE + 1)) for line in inside}
        order = [*inside[: heads[0][1] - span.start + 1], *(line for first, last in heads[1:] for line in range(first, last + 1))]
        kept = set[int]()
        for line in dict.fromkeys([*order, *sorted(inside, key=lambda line: (-near[line], line))]):
            room -= _bytes(lines[line - 1]) + (0 if {line - 1, line + 1} & kept else _GAP_BYTES)
            if room < 0:
                break
            kept.add(line)
        rows, shown, after = list[str](), list[tuple[int, int]](), span.start
        for line in [*sorted(kept), span.end + 1]:
            if line != after:
                rows.append(f"... lines {after}-{line - 1} are left out")
            if line in kept:
                rows.append(lines[line - 1])
                shown = [*shown[:-1], (shown[-1][0], line)] if shown and line == after else [*shown, (line, line)]
            after = line + 1
        return shown, "\n".join(rows) if kept else ""

    def head(self, kind: ExcerptKind, path: str, span: FunctionSpan, of: str, place: Place | None = None) -> Excerpt:
        """The head of a function, on one line."""
        lines = self._code.lines(path)
        return _made(kind, path, span, [head(lines, span.start, span.end)], signature(lines, span.start, span.end), of, place)

    def use(self, kind: ExcerptKind, use: Use, of: str) -> Excerpt:
        """The line of a use."""
        return _made(kind, *use.spot, [(use.line, use.line)], self._code.lines(use.spot.path)[use.line - 1], of)

    def context(self, tests: Sequence[str] = ()) -> Context:
        """All of it, and below it as many of the files of ``tests`` as fit."""
        order = list(_TITLES)
        groups = sorted(self._groups.items(), key=lambda group: order.index(group[1][0].kind))
        parts = ["\n".join([title, *map(_row, some)]) for title, some in groups]
        sizes = accumulate((_bytes(shlex.quote(test)) for test in tests), initial=self._used + _bytes(_RUN) + 1)
        run = [test for test, size in zip(tests, islice(sizes, 1, None), strict=False) if size <= self._whole]
        parts += [f"{_RUN}\n{' '.join(map(shlex.quote, run))}"] if run else []
        text = "\n\n".join([self._note, *parts] if self._note else parts)
        excerpts = [one for _, some in groups for one in some]
        return Context(excerpts=excerpts, run=run, text=text, tokens=tokens_of(text), budget=self._budget)


def _made(
    kind: ExcerptKind, path: str, span: FunctionSpan, shown: list[tuple[int, int]], text: str, of: str = "",
    place: Location | Place | None = None,
) -> Excerpt:  # fmt: skip
    sure = {"confidence": place.confidence, "reasons": place.reasons} if place else {}
    return Excerpt(
        kind=kind, path=path, function=span.name or None, lines=(span.start, span.end), shown=shown, text=text, of=of, **sure
    )


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
