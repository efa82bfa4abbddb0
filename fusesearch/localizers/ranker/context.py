"""What to read for an issue within a budget of tokens, made from the ranker's answer.

The best functions stand first, in full; one that is longer than :data:`LONG` of the budget is cut around the lines that share the
issue's words, and each gap is marked. Then follow the heads of what they call and of their callers
(:mod:`fusesearch.localizers.ranker.neighbours`), and the outlines of the likely files. No function stands twice.

A token is counted as four bytes of UTF-8, of everything that is printed. The same tree and issue give the same text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Literal

from fusesearch.code.heads import LINE_CHARS, head
from fusesearch.code.spans import FunctionSpan, is_python
from fusesearch.core.caches import Caches
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Context, Excerpt, Location, Place
from fusesearch.core.text import printable
from fusesearch.localizers.ranker import models, ranking_in
from fusesearch.localizers.ranker.answer import Ranking
from fusesearch.localizers.ranker.evidence import draw_evidence
from fusesearch.localizers.ranker.facts import IDENTIFIER, words_of
from fusesearch.localizers.ranker.index import Index, Progress
from fusesearch.localizers.ranker.neighbours import Neighbours, Spot
from fusesearch.localizers.ranker.places import FEW_FILES, LEAST, for_people
from fusesearch.search.repository import Repository

TOKENS, LEAST_TOKENS, MOST_TOKENS = 4000, 100, 100_000
BYTES_PER_TOKEN = 4

FUNCTIONS_SHARE, CALLS_SHARE, OUTLINES_SHARE = 0.6, 0.2, 0.2
"""Shares of the budget. What one kind leaves goes to the next, and in the end to more functions."""

LONG = 1 / 3
"""Share of the budget above which a function is cut."""

MAX_CALLING = 20
"""Functions whose callees and callers are looked up."""

AROUND = 2
"""Lines kept on each side of a line that matters."""

TEXT = 0.3
"""What a line of a docstring or comment counts beside one of code."""

_HOLDER = re.compile(
    r"[ \t]*(?:[\w@]+[ \t]+){0,5}?"
    r"(?:class|struct|interface|trait|enum|union|record|object|protocol|module|namespace|impl|type)\b(.*)"
)
_GAP_BYTES = 48  # most that the mark of one gap takes
_RELATION = {"callee": "Called by", "caller": "Callers of"}


def context(repo: str | Path, issue: str, tokens: int = TOKENS) -> Context:
    """What to read in the directory ``repo`` for ``issue`` (its text), in at most ``tokens`` tokens, as on the command line.

    ``context(...).text`` is for a prompt, ``excerpts`` have the parts. Nothing in the directory is changed or run.

    Raises:
        DataError: the issue is empty, or ``tokens`` is out of bounds.
        RepositoryError: the directory cannot be read.
    """
    return context_of(issue, Repository(Path(repo)), tokens)


def context_of(
    issue: str, repository: Repository, tokens: int = TOKENS, folder: Path | None = None, on_progress: Progress | None = None
) -> Context:
    """:func:`context` of a repository; ``folder`` is where the index lies, by default in the user's caches."""
    if not issue.strip():
        raise DataError("the issue is empty")
    if not LEAST_TOKENS <= tokens <= MOST_TOKENS:
        raise DataError(f"tokens must be a number from {LEAST_TOKENS} to {MOST_TOKENS}")
    models()  # raises before an index is made
    with Index(repository, folder or Caches().index, on_progress) as index:
        ranking = ranking_in(issue, index, FEW_FILES)
        places = for_people(ranking, issue).places
        return _Reading(issue, index, ranking, places, tokens).context() if places else Context(budget=tokens)


def tokens_of(text: str) -> int:
    """The estimate that budgets count by: a token for every four bytes of UTF-8."""
    return math.ceil(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN)


class _Reading:
    """The excerpts for one issue, chosen within a budget."""

    def __init__(self, issue: str, index: Index, ranking: Ranking, places: Sequence[Place], budget: int) -> None:
        self._index, self._ranking, self._budget = index, ranking, budget
        self._places = [place for number, place in enumerate(places) if number == 0 or place.confidence >= LEAST]
        self._room = budget * BYTES_PER_TOKEN
        self._lines_of = lru_cache(maxsize=64)(self._read)
        evidence = draw_evidence(issue)
        told = [*((frame.path, frame.line) for frame in evidence.frames), *((one.path, one.line) for one in evidence.paths)]
        self._told = {(path.replace("\\", "/").rpartition("/")[2], line) for path, line in told}

    def context(self) -> Context:
        """The excerpts that fit: functions, heads, outlines; where there is room, more functions, and what they call in full."""
        found = self._candidates()
        functions = self._filled([], found, self._room * FUNCTIONS_SHARE)
        heads = self._heads(functions, self._room * CALLS_SHARE)
        outlined = _size(self._outlines(functions, heads, self._room * OUTLINES_SHARE))
        called = [Location(path=one.path, function=one.function, lines=one.lines) for one in heads if one.kind == "callee"]
        functions = self._filled(functions, [*found, *called], self._room - _size(heads) - outlined)
        full = {(one.path, one.lines) for one in functions}
        heads = [one for one in heads if (one.path, one.lines) not in full]
        outlines = self._outlines(functions, heads, self._room - _size(functions) - _size(heads))
        excerpts = [*functions, *heads, *outlines]
        text = "\n\n".join(_pieces(excerpts))
        return Context(excerpts=excerpts, text=text, tokens=tokens_of(text), budget=self._budget)

    def _candidates(self) -> list[Location]:
        """Functions, the most probable first: those of the answer, then others of its files. A file without any counts as one."""
        having = {one.candidate.path for one in self._ranking.functions}
        best = [one for place in self._places for one in place.functions]
        best += [
            Location(path=place.path, lines=(1, len(lines)), confidence=place.confidence, reasons=place.reasons)
            for place in self._places
            if place.path not in having and any(lines := self._lines_of(place.path))
        ]
        paths = {place.path for place in self._places}
        others = [
            Location(
                path=one.candidate.path, function=span.name, lines=(span.start, span.end), confidence=round(one.probability, 3)
            )
            for one in self._ranking.functions
            if (span := one.candidate.span) and one.candidate.path in paths and one.probability >= LEAST
        ]
        return [*sorted(best, key=_unlikeliness), *sorted(others, key=_unlikeliness)]

    def _filled(self, chosen: Sequence[Excerpt], candidates: Iterable[Location], room: float) -> list[Excerpt]:
        """``chosen`` and what else fits into ``room`` bytes."""
        found, used = list(chosen), _size(chosen)
        taken = {(one.path, one.lines) for one in chosen}
        for location in candidates:
            if location.lines is None or (location.path, location.lines) in taken:
                continue
            left = min(room - used, self._room * (LONG if found else FUNCTIONS_SHARE))
            may_cut = location.confidence is not None and left > self._room * LONG / 2
            excerpt = self._function(location, left, cut=not found or may_cut)
            if excerpt and used + _size([excerpt]) <= room:
                found.append(excerpt)
                used += _size([excerpt])
                taken.add((location.path, location.lines))
        return found

    def _function(self, location: Location, room: float, cut: bool) -> Excerpt | None:
        """A function in full; if it is long and may be ``cut``, the lines of it that matter; None if it does not fit."""
        assert location.lines is not None  # noqa: S101
        lines = self._lines_of(location.path)
        first, last = location.lines[0], min(location.lines[1], len(lines))
        if first > last:
            return None

        def excerpt(shown: Sequence[tuple[int, int]]) -> Excerpt:
            return Excerpt(
                kind="function", path=location.path, function=location.function, lines=(first, last), shown=list(shown),
                text=_with_gaps(lines, shown, first, last), confidence=location.confidence, reasons=location.reasons,
            )  # fmt: skip

        if _size([whole := excerpt([(first, last)])]) <= room:
            return whole
        if not cut or _size([whole]) <= self._room * LONG:
            return None
        empty = excerpt([])
        shown = self._cut(location.path, first, last, room - _size([empty]))
        return excerpt(shown) if shown else None

    def _cut(self, path: str, first: int, last: int, room: float) -> list[tuple[int, int]]:
        """Ranges of lines that fit into ``room`` bytes: the head, the lines that matter most, then from the top."""
        lines = self._lines_of(path)
        kept: set[int] = set()
        room -= _GAP_BYTES

        def keep(numbers: Iterable[int]) -> None:
            nonlocal room
            fresh = [number for number in numbers if first <= number <= last and number not in kept]
            beside = any({number - 1, number + 1} & kept for number in fresh)
            cost = sum(_bytes(lines[number - 1]) for number in fresh) + (0 if beside else _GAP_BYTES)
            if fresh and cost <= room:
                kept.update(fresh)
                room -= cost

        top = head(lines, first, last)
        keep(range(first, top[1] + 1))
        if not kept:
            keep(range(top[0], top[1] + 1))
        if not kept:
            return []
        texts = set(_text_lines(lines, top[1] + 1, last))
        weights = {number: self._weight(path, number) * (TEXT if number in texts else 1) for number in range(first, last + 1)}
        for number in sorted(weights, key=lambda number: (-weights[number], number in texts, number)):
            keep(range(number - AROUND, number + AROUND + 1) if weights[number] else [number])
        for before, after in pairwise([*sorted(kept), last + 1]):
            gap = range(before + 1, after)
            if sum(_bytes(lines[number - 1]) for number in gap) <= _bytes(_gap(before + 1, after - 1)):
                kept.update(gap)
        return _ranges(kept)

    def _weight(self, path: str, number: int) -> float:
        """How much of the issue a line has: its words, the rarer the more, and lines that the issue names."""
        words = {word for name in IDENTIFIER.findall(self._lines_of(path)[number - 1]) for word in words_of(name)}
        shared = sum(1 / math.log(2 + files) for word in sorted(words) if (files := self._ranking.words.get(word)))
        return shared + 10 * ((path.rpartition("/")[2], number) in self._told)

    def _heads(self, functions: Sequence[Excerpt], room: float) -> list[Excerpt]:
        """Heads of the callees and callers of functions, the best function's first."""
        spots = [Spot(one.path, FunctionSpan(*one.lines, one.function)) for one in functions if one.function][:MAX_CALLING]
        if not spots:
            return []
        neighbours = Neighbours(self._index, spots, self._lines_of)
        seen = {(one.path, one.lines) for one in functions}
        found: list[Excerpt] = []
        for spot in spots:
            excerpts = [self._head("callee", other, spot) for other in neighbours.callees(spot)]
            excerpts += [self._head("caller", other, spot) for other in neighbours.callers(spot)]
            for excerpt in filter(None, excerpts):
                if (excerpt.path, excerpt.lines) not in seen and _size([*found, excerpt]) <= room:
                    found.append(excerpt)
                    seen.add((excerpt.path, excerpt.lines))
        return found

    def _head(self, kind: Literal["callee", "caller"], spot: Spot, of: Spot) -> Excerpt | None:
        lines = self._lines_of(spot.path)
        if spot.span.start > len(lines):
            return None
        first, last = head(lines, spot.span.start, spot.span.end)
        return Excerpt(
            kind=kind, path=spot.path, function=spot.span.name, lines=(spot.span.start, spot.span.end), shown=[(first, last)],
            text=_with_gaps(lines, [(first, last)], first, last), of=of.entity,
        )  # fmt: skip

    def _outlines(self, functions: Sequence[Excerpt], heads: Sequence[Excerpt], room: float) -> list[Excerpt]:
        """Outlines of the files, the first of which may take half of what is left, and so on."""
        shown = {(one.path, one.lines[0]) for one in [*functions, *heads]}
        found: list[Excerpt] = []
        for number, place in enumerate(self._places, 1):
            left = room - _size(found)
            excerpt = self._outline(place, shown, left if number == len(self._places) else left / 2)
            found += [excerpt] if excerpt else []
        return found

    def _outline(self, place: Place, shown: set[tuple[str, int]], room: float) -> Excerpt | None:
        """Heads of the functions that nothing else shows, probable ones first where not all fit, and of their classes."""
        lines = self._lines_of(place.path)
        facts = next((facts for _, facts in self._index.facts([place.path])), None)
        spans = [span for span in facts.functions if span.start <= len(lines)] if facts else []
        order = {one.candidate.entity: number for number, one in enumerate(self._ranking.functions)}
        spans.sort(key=lambda span: (order.get(f"{place.path}::{span.name}", len(order)), span.start))
        holders = self._holders(place.path, spans, facts.classes if facts else [])
        confidence, reasons, total = place.confidence, place.reasons, (1, max(1, len(lines)))
        excerpt = Excerpt(
            kind="outline", path=place.path, lines=total, shown=[], text="", confidence=confidence, reasons=reasons
        )  # fmt: skip
        room -= _size([excerpt])
        kept: set[int] = set()
        wanted = [(holders.get(span.name.rpartition(".")[0]), span) for span in spans if (place.path, span.start) not in shown]
        pieces = [(*([(above, above)] if above else []), head(lines, span.start, span.end)) for above, span in wanted]
        for piece in [*pieces, *(((number, number),) for number in sorted(set(holders.values())))]:
            fresh = [number for first, last in piece for number in range(first, last + 1) if number not in kept]
            cost = sum(_bytes(_numbered(lines, number)) for number in fresh)
            if cost <= room:
                kept.update(fresh)
                room -= cost
        text = "\n".join(_numbered(lines, number) for number in sorted(kept))
        return excerpt.model_copy(update={"shown": _ranges(kept), "text": text}) if kept else None

    def _holders(self, path: str, spans: Sequence[FunctionSpan], classes: Sequence[str]) -> dict[str, int]:
        """Lines of the heads of classes and the like, by their dotted name."""
        outer = {span.name.rpartition(".")[0] for span in spans} - {""} | set(classes)
        by_last = {name.rpartition(".")[2]: name for name in sorted(outer)}
        found: dict[str, int] = {}
        for number, line in enumerate(self._lines_of(path), 1):
            if match := _HOLDER.match(line):
                names = IDENTIFIER.findall(match[1])
                named = next((by_last[name] for name in (names[:1] if is_python(path) else names[:6]) if name in by_last), None)
                if named and (not is_python(path) or line.rstrip().endswith((":", "(", ","))):
                    found.setdefault(named, number)
        return found

    def _read(self, path: str) -> list[str]:
        """Lines of a file without what could steer a terminal; long ones end with ``…``."""
        source = self._index.source(path).removesuffix("\n")
        return [_safe(line.removesuffix("\r")) for line in source.split("\n")] if source else []


def _unlikeliness(location: Location) -> float:
    return -(location.confidence or 0.0)


def _safe(line: str) -> str:
    line = line if len(line) <= LINE_CHARS else f"{line[:LINE_CHARS]}…"
    return line if line.isprintable() else "\t".join(map(printable, line.split("\t")))


def _pieces(excerpts: Sequence[Excerpt]) -> Iterator[str]:
    """What is printed of each excerpt; heads of one function's callees or callers stand under one title."""
    before: tuple[str, str] | None = None
    for one in excerpts:
        where = printable(f"{one.path}:{one.lines[0]}-{one.lines[1]}")
        sure = f" ({'; '.join([f'{one.confidence:.0%}', *one.reasons])})" if one.confidence is not None else ""
        if one.kind == "function":
            yield printable(f"## {where}  {one.function or 'the file'}{sure}") + f"\n{one.text}"
        elif one.kind == "outline":
            yield printable(f"## Outline of {one.path}{sure}") + f"\n{one.text}"
        else:
            title = printable(f"## {_RELATION[one.kind]} {one.of}") + "\n" if before != (one.kind, one.of) else ""
            yield f"{title}{where}\n{one.text}"
        before = (one.kind, one.of)


def _size(excerpts: Sequence[Excerpt]) -> int:
    """Bytes that excerpts add to a text."""
    return sum(_bytes(piece) + 1 for piece in _pieces(excerpts))


def _bytes(line: str) -> int:
    return len(line.encode("utf-8", "replace")) + 1


def _numbered(lines: Sequence[str], number: int) -> str:
    return f"{number:>5}  {lines[number - 1]}"


def _with_gaps(lines: Sequence[str], shown: Sequence[tuple[int, int]], first: int, last: int) -> str:
    """The shown lines, and for each gap between ``first`` and ``last`` a line that says which are left out."""
    rows: list[str] = []
    after = first
    for start, end in [*shown, (last + 1, last)]:
        if after < start:
            rows.append(_gap(after, start - 1))
        rows += lines[start - 1 : end]
        after = end + 1
    return "\n".join(rows)


def _gap(first: int, last: int) -> str:
    return f"... lines {first}-{last} are left out"


def _text_lines(lines: Sequence[str], first: int, last: int) -> Iterator[int]:
    """Lines of comments, and of a docstring that begins with the first of them."""
    quote = next((mark for mark in ('"""', "'''") if mark in lines[first - 1][:60]), "") if first <= last else ""
    inside = bool(quote)
    for number in range(first, last + 1):
        line = lines[number - 1].strip()
        if inside or line.startswith(("#", "//", "/*", "* ")):
            yield number
        inside = inside and not (quote in line and (number > first or line.count(quote) > 1))


def _ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found
