"""What to read within a budget of tokens: for a text such as an issue, or for a name.

For a text, the likely functions of the ranker's answer stand first, in full; one that is longer than :data:`LONG` of the budget
is cut around the lines that share the issue's words, and each gap is marked. Then follow heads of what they call and lines that
call them (:mod:`fusesearch.localizers.ranker.neighbours`), and outlines of the likely files. For a name, its definitions stand
first, then lines that use them, heads of what they call, and lines of tests that have the name.

A token is counted as four bytes of UTF-8, of everything that is printed. The same tree and text give the same context.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

from fusesearch.code.heads import head, signature
from fusesearch.code.kinds import is_code, is_foreign, is_test
from fusesearch.code.naming import read_name, unwrapped
from fusesearch.code.other.plain import class_heads, declared, without_text
from fusesearch.code.spans import FunctionSpan
from fusesearch.core.caches import Caches
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Context, Excerpt, ExcerptKind, Location, Place
from fusesearch.core.text import printable
from fusesearch.localizers.ranker import answer_in, models
from fusesearch.localizers.ranker.answer import Ranking, as_answer, location
from fusesearch.localizers.ranker.building import Progress
from fusesearch.localizers.ranker.evidence import draw_evidence
from fusesearch.localizers.ranker.facts import IDENTIFIER, term, words_of
from fusesearch.localizers.ranker.index import Index
from fusesearch.localizers.ranker.neighbours import Neighbours, Sources, Spot, Use, word_of
from fusesearch.localizers.ranker.paths import family
from fusesearch.localizers.ranker.places import LEAST, lines_of
from fusesearch.localizers.ranker.within import within
from fusesearch.search.repository import Repository

TOKENS, LEAST_TOKENS, MOST_TOKENS = 4000, 100, 100_000
BYTES_PER_TOKEN = 4

BODIES, AROUND = 0.6, 0.8
"""Shares of the budget up to which bodies stand, and then what is around them. What is left goes to the rest, then to bodies."""

LONG = 1 / 3
"""Share of the budget above which a body is cut."""

MAX_SPOTS, CALLERS, USES = 20, 5, 200
"""Bodies whose neighbours are looked up; callers of a function of an issue, and uses of what has a name, at most."""

MAX_BASES, MAX_TESTS = 8, 100
"""Bases above a class, and files of tests, that are looked up for a name."""

BESIDE = 2
"""Lines kept on each side of a line that matters."""

_GAP_BYTES = 48  # most that the mark of one gap takes
_TITLES = {
    "callee": "Called by",
    "caller": "Uses of",
    "use": "Perhaps uses of, by the name alone:",
    "test": "Tests with",
    "outline": "Outline of",
}


def context(repo: str | Path, text: str, tokens: int = TOKENS, **filters: Any) -> Context:
    """What to read in the directory ``repo`` for ``text``, in at most ``tokens`` tokens, as on the command line.

    ``text`` is that of an issue, or a name as :func:`name_in` reads it. ``context(...).text`` is for a prompt, ``excerpts``
    have the parts. ``filters`` are those of :func:`~fusesearch.localizers.ranker.within.within`. Nothing in the directory is
    changed or run.

    Raises:
        DataError: the text is empty, nothing has the name, or ``tokens`` is out of bounds.
        RepositoryError: the directory cannot be read.
    """
    return context_of(text, within(Repository(Path(repo)), **filters), tokens)


def context_of(
    text: str, repository: Repository, tokens: int = TOKENS, folder: Path | None = None, on_progress: Progress | None = None
) -> Context:
    """:func:`context` of a repository; ``folder`` is where the index lies, by default in the user's caches."""
    if not text.strip():
        raise DataError("the issue is empty")
    if not LEAST_TOKENS <= tokens <= MOST_TOKENS:
        raise DataError(f"tokens must be a number from {LEAST_TOKENS} to {MOST_TOKENS}")
    named = name_in(text)
    if named is None:
        models()  # raises before an index is made
    with Index(repository, folder or Caches().index, on_progress) as index:
        if named is not None:
            return _OfName(index, tokens, *named).context()
        ranking, fields = answer_in(text, index)
        places = as_answer(fields).places
        return _OfIssue(index, tokens, text, ranking, places).context() if places else Context(budget=tokens)


def name_in(text: str) -> tuple[str, str] | None:
    """The path, empty if there is none, and the dotted name of a text that is one name and nothing else.

    Such as ``cart``, ``Cart.total``, ``Cart::total``, ``Cart#total``, ``shop.cart.Cart`` and ``shop/cart.py::Cart.total``.
    """
    text = unwrapped(text).removesuffix("()")
    path, _, name = text.partition("::")
    if not (is_code(path) or ("." in path and is_test(path))):
        path, name = "", text
    found = read_name(name, path) if any(map(str.isalpha, name)) else None
    return (path, found[0]) if found and not found[1] else None


def tokens_of(text: str) -> int:
    """The estimate that budgets count by: a token for every four bytes of UTF-8."""
    return math.ceil(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN)


class _Reading:
    """Excerpts within a budget: bodies, lines around them, and the rest. The two kinds say what these are."""

    body: ExcerptKind

    def __init__(self, index: Index, budget: int) -> None:
        self._index, self._budget = index, budget
        self._sources = Sources(index)

    def _around(self, bodies: Sequence[Excerpt]) -> Iterable[Excerpt]:
        raise NotImplementedError

    def _rest(self, shown: Sequence[Excerpt], room: float) -> list[Excerpt]:
        raise NotImplementedError

    def _weight(self, path: str, number: int) -> float:
        """How much a line matters of a body that is too long."""
        return 0.0

    def _composed(self, wanted: Sequence[Location], note: str = "") -> Context:
        room = self._budget * BYTES_PER_TOKEN - _bytes(note) - 1
        wanted, allowed = [one for one in wanted if self._allowed(one)], partial(filter, self._allowed)
        bodies = self._bodies([], wanted, room * BODIES)
        around = _fitting(allowed(self._around(bodies)), bodies, room * AROUND)
        rest = self._rest([*bodies, *around], room)
        bodies = self._bodies(bodies, wanted, room - _size(around) - _size(rest))
        around = _fitting(around, bodies, room)
        excerpts = [*bodies, *around, *self._rest([*bodies, *around], room)]
        text = "\n\n".join(filter(None, [note, _printed(excerpts)]))
        return Context(excerpts=excerpts, text=text, tokens=tokens_of(text), budget=self._budget)

    def _allowed(self, one: Location | Excerpt) -> bool:
        return self._index.repository.allowed(one.path)

    def _bodies(self, chosen: Sequence[Excerpt], wanted: Iterable[Location], room: float) -> list[Excerpt]:
        """``chosen`` and what else fits into ``room`` bytes; the first may be cut, and others where there is much room."""
        found, whole = list(chosen), self._budget * BYTES_PER_TOKEN
        taken = {(one.path, one.lines) for one in chosen}
        for place in wanted:
            left = min(room - _size(found), whole * (LONG if found else BODIES))
            excerpt = self._body(place, left, not found or left > whole * LONG / 2) if left > 0 else None
            if excerpt and (excerpt.path, excerpt.lines) not in taken:
                found.append(excerpt)
                taken.add((excerpt.path, excerpt.lines))
        return found

    def _body(self, place: Location, room: float, may_cut: bool) -> Excerpt | None:
        """A definition in full; if it is long and may be cut, the lines of it that matter; None if it does not fit."""
        lines = self._sources.lines(place.path)
        first, last = place.lines or (1, len(lines))
        span = FunctionSpan(first, min(last, len(lines)), place.function or "")
        if span.start > span.end:
            return None
        whole = self._excerpt(self.body, place.path, span, range(span.start, span.end + 1), place)
        if _size([whole]) <= room:
            return whole
        if not may_cut or _size([whole]) <= self._budget * BYTES_PER_TOKEN * LONG:
            return None
        room -= _size([whole.model_copy(update={"text": ""})]) + _GAP_BYTES
        kept: set[int] = set()
        for window in self._cuts(place.path, span):
            fresh = set(window) - kept
            beside = any({line - 1, line + 1} & kept for line in fresh)
            cost = sum(_bytes(lines[line - 1]) for line in fresh) + (0 if beside else _GAP_BYTES)
            if cost > room and not kept:
                return None  # not even the head fits
            if cost <= room:
                kept |= fresh
                room -= cost
        return self._excerpt(self.body, place.path, span, sorted(kept), place)

    def _cuts(self, path: str, span: FunctionSpan) -> Iterator[Sequence[int]]:
        """Lines of a long body: heads, those that matter most with some beside them, the others, comments and the like last."""
        lines, inside = self._sources.lines(path), range(span.start, span.end + 1)
        inner = (one for one in self._sources.functions(path) if span.start < one.start <= span.end)
        for one in (span, *inner):
            first, last = head(lines, one.start, one.end)
            yield range(one.start if one == span else first, last + 1)
        weights = {number: self._weight(path, number) for number in inside}
        code = without_text("\n".join(lines), path).split("\n")
        text = {number for number in inside if lines[number - 1].strip() and not code[number - 1].strip()}
        for number in sorted(inside, key=lambda number: (-weights[number], number in text, number)):
            beside = BESIDE if weights[number] else 0
            yield range(max(span.start, number - beside), min(span.end, number + beside) + 1)

    def _head(self, kind: ExcerptKind, path: str, span: FunctionSpan, of: str, place: Place | None = None) -> Excerpt:
        first, last = head(self._sources.lines(path), span.start, span.end)
        return self._excerpt(kind, path, span, range(first, last + 1), place, of)

    def _use(self, kind: ExcerptKind, use: Use, of: str) -> Excerpt:
        return self._excerpt(kind, use.path, use.function or FunctionSpan(use.line, use.line, ""), [use.line], of=of)

    def _excerpt(
        self, kind: ExcerptKind, path: str, span: FunctionSpan, numbers: Sequence[int],
        place: Location | Place | None = None, of: str = "",
    ) -> Excerpt:  # fmt: skip
        """Lines of a body with a mark for each gap between them, or a head on one line, or the line of a use."""
        lines, rows, shown, after = self._sources.lines(path), list[str](), list[tuple[int, int]](), span.start
        for number in numbers:
            if not shown or number > shown[-1][1] + 1:
                rows += [f"... lines {after}-{number - 1} are left out"] if after < number and kind == self.body else []
                shown.append((number, number))
            shown[-1], after = (shown[-1][0], number), number + 1
            rows.append(lines[number - 1])
        rows += [f"... lines {after}-{span.end} are left out"] if after <= span.end and kind == self.body else []
        return Excerpt(
            kind=kind, path=path, function=span.name or None, lines=(span.start, span.end), shown=shown, of=of,
            text=signature(lines, span.start, span.end) if kind in ("callee", "outline") else "\n".join(rows),
            confidence=place and place.confidence, reasons=place.reasons if place else [],
        )  # fmt: skip


class _OfIssue(_Reading):
    """For an issue: likely functions, heads of what they call and lines that call them, outlines of the likely files."""

    body = "function"

    def __init__(self, index: Index, budget: int, issue: str, ranking: Ranking, places: Sequence[Place]) -> None:
        super().__init__(index, budget)
        self._issue, self._ranking = issue, ranking
        self._places = [one for number, one in enumerate(places) if number == 0 or (one.confidence or LEAST) >= LEAST]
        evidence = draw_evidence(issue)
        told = [*((frame.path, frame.line) for frame in evidence.frames), *((one.path, one.line) for one in evidence.paths)]
        self._told = {(path.replace("\\", "/").rpartition("/")[2], line) for path, line in told}

    def context(self) -> Context:
        """The functions of the answer stand first, then others of its files. A file without any counts as one."""
        answered = {one.entity for place in self._places for one in place.functions}
        paths, having = {place.path for place in self._places}, {one.candidate.path for one in self._ranking.functions}
        if self._places[0].confidence is None:  # of a search
            return self._composed([one for place in self._places for one in place.functions or [Location(path=place.path)]])
        ranked = (one for one in self._ranking.functions if one.candidate.path in paths and one.probability >= LEAST)
        reasons = self._ranking.reasons
        wanted = [location(one.candidate.entity, one.probability, reasons(one.candidate), lines_of(one)) for one in ranked]
        wanted += [location(one.path, one.confidence, one.reasons) for one in self._places if one.path not in having]
        places = [Location.model_validate(fields) for fields in wanted]
        return self._composed(
            sorted(places, key=lambda one: (one.function is not None and one.entity not in answered, -(one.confidence or 0)))
        )

    def _weight(self, path: str, number: int) -> float:
        """How much of the issue a line has: its words, the rarer the more, and lines that the issue names."""
        words = {word for name in IDENTIFIER.findall(self._sources.lines(path)[number - 1]) for word in words_of(name)}
        shared = sum(1 / math.log(2 + files) for word in sorted(words) if (files := self._ranking.words.get(word)))
        return shared + 10 * ((path.rpartition("/")[2], number) in self._told)

    def _around(self, bodies: Sequence[Excerpt]) -> Iterator[Excerpt]:
        spots = [Spot(one.path, FunctionSpan(*one.lines, one.function)) for one in bodies if one.function][:MAX_SPOTS]
        neighbours = Neighbours(self._sources, spots)
        for spot in spots:
            yield from (self._head("callee", *callee, spot.entity) for callee in neighbours.callees(spot))
            calls = (use for use in neighbours.uses(spot) if use.sure and use.function)
            yield from (self._use("caller", use, spot.entity) for use in islice(calls, CALLERS))

    def _rest(self, shown: Sequence[Excerpt], room: float) -> list[Excerpt]:
        """Outlines of the files: heads of functions that nothing else shows, where not all fit the probable ones.

        The first file may take half of what is left, and so on.
        """
        order = {one.candidate.entity: number for number, one in enumerate(self._ranking.functions)}
        found: list[Excerpt] = []
        for number, place in enumerate(self._places, 1):
            spans = [span for span in self._sources.functions(place.path) if span.start <= len(self._sources.lines(place.path))]
            spans.sort(key=lambda span: (order.get(f"{place.path}::{span.name}", len(order)), span.start))
            before = [*shown, *found]
            kept = room if number == len(self._places) else (room + _size(before)) / 2
            heads = _fitting((self._head("outline", place.path, span, place.path, place) for span in spans), before, kept)
            found += sorted(heads, key=lambda one: one.lines)
        return found


class _OfName(_Reading):
    """For a name: its definitions, lines that use them, heads of what they call, lines of tests that have the name."""

    body = "definition"

    def __init__(self, index: Index, budget: int, path: str, name: str) -> None:
        super().__init__(index, budget)
        self._name = name
        *self._owner, self._last = name.split(".")
        word, files = word_of(self._last), index.repository.files()
        having = (file for file, facts in index.facts(index.paths) if facts.find(word) >= 0)
        self._code = sorted(having, key=lambda file: (is_foreign(file), file))
        tests = (file for file in files if is_test(file) and index.repository.allowed(file))
        self._tests = [file for file in tests if self._last in index.source(file)]
        found = (self._defined(file for file in part if file.endswith(path)) for part in (self._code, self._tests))
        spots, self._fits = self._owned(next(filter(None, found), []))
        outer = [one for one in spots if not any(one.lies_in(other) for other in spots)]
        self._spots = [one for one in outer if index.repository.allowed(one.path)] or outer

    def context(self) -> Context:
        """Raises :class:`DataError` if nothing has the name."""
        other = f", but `{self._last}` is" if self._spots else ""
        spots = [(one.path, one.span) for one in self._spots]
        wanted = [Location(path=path, function=span.name, lines=(span.start, span.end)) for path, span in spots]
        found = self._composed(wanted, "" if self._fits else f"`{self._name}` is not defined here{other}.")
        if not found.excerpts:
            raise DataError(f"nothing here is called {self._name}{self._nearest()}")
        return found.model_copy(update={"name": self._name})

    def _defined(self, paths: Iterable[str]) -> list[Spot]:
        """What has the last part of the name as its own: functions, and what declares it by its form."""
        found: list[Spot] = []
        for path in paths:
            spans = self._sources.functions(path)
            own = [span for span in spans if f".{span.name}".endswith(f".{self._last}")]
            found += [Spot(path, span) for span in sorted([*own, *declared(path, self._sources.lines(path), self._last, spans)])]
        return found

    def _owned(self, found: list[Spot]) -> tuple[list[Spot], bool]:
        """Those whose path and name have the parts before the last, and whether any has; else all.

        The first parts may be missing, such as the package's own name, and others may stand between, as in what is exported.
        """
        root = self._index.repository.root.name
        for start in range(len(self._owner)):
            fits = {one: _fit(self._owner[start:], [root, *one.path.split("/"), *one.span.name.split(".")]) for one in found}
            if any(fits.values()):
                return [one for one in found if fits[one] == max(fits.values())], True
        inherited = self._inherited(found) if self._owner else []
        return inherited or found, bool(inherited) or (bool(found) and not self._owner)

    def _inherited(self, found: Sequence[Spot]) -> list[Spot]:
        """Those of the nearest classes that the one before the last part names at its head, as its bases do at theirs."""
        names, seen = {self._owner[-1]}, set[str]()
        for _ in range(MAX_BASES if found else 0):
            own = [one for one in found if names & {*one.span.name.split(".")[-2:-1]}]
            if own or not names:
                return own
            seen |= names
            defined = {term(f"c:{name}") for name in names}
            files = (path for path, facts in self._index.facts(self._index.paths) if not defined.isdisjoint(facts.terms))
            heads = (match for path in files for match in class_heads(self._index.source(path)) if match[0] in names)
            names = {word for _, bases in heads for word in IDENTIFIER.findall(bases)} - seen
        return []

    def _around(self, bodies: Sequence[Excerpt]) -> Iterator[Excerpt]:
        shown = {(one.path, one.lines) for one in bodies}
        for path, span in self._spots:
            if (path, (span.start, span.end)) not in shown:
                yield self._head("definition", path, span, "")
        spots, unsure = list({one.entity: one for one in self._spots}.values())[:MAX_SPOTS], []
        neighbours = Neighbours(self._sources, spots)
        for spot in spots:
            is_function = spot.span in self._sources.functions(spot.path)
            for use in islice(neighbours.uses(spot, calls=is_function), USES):
                if use.sure:
                    yield self._use("caller", use, spot.entity)
                else:
                    unsure.append(use)
        for spot in spots:
            yield from (self._head("callee", *callee, spot.entity) for callee in neighbours.callees(spot))
        others = () if spots else (use for path in self._code for use in self._sources.uses(path, self._last))
        yield from (self._use("use", use, self._last) for use in (*unsure, *islice(others, USES)))

    def _rest(self, shown: Sequence[Excerpt], room: float) -> list[Excerpt]:
        return _fitting((self._use("test", use, self._last) for use in self._tested), shown, room)

    @cached_property
    def _tested(self) -> list[Use]:
        """Tests, those named after the definition first; where files of tests have what holds it, in these."""
        held = {holder for spot in self._spots for holder in spot.span.name.split(".")[-2:-1]}
        fitting = [path for path in self._tests if any(holder in self._index.source(path) for holder in held)]
        about = [re.split(r"[/.]", spot.path)[-2] for spot in self._spots]
        kinds = {family(spot.path) for spot in self._spots}
        files = [path for path in fitting or self._tests if not kinds or family(path) in kinds]
        files = sorted(files, key=lambda path: not any(name in path for name in (self._last, *about)))
        found = [use for path in files[:MAX_TESTS] for use in self._sources.uses(path, self._last)]
        return sorted(found, key=lambda use: use.function is None or self._last.lower() not in use.function.name.lower())

    def _nearest(self) -> str:
        """The names that are most similar."""
        facts = (facts for _, facts in self._index.facts(self._index.paths))
        names = {name for one in facts for name in (*one.classes, *(span.name.rpartition(".")[2] for span in one.functions))}
        alike = {name.lower(): name for name in sorted(names) if abs(len(name) - len(self._last)) < 5}
        close = get_close_matches(self._last.lower(), alike)
        return f"; near: {', '.join(alike[name] for name in close)}" if close else ""


def _fit(owner: Sequence[str], parts: Sequence[str]) -> int:
    """1 more than how many of the ``owner`` stand right before the last of ``parts``; 0 unless all stand there in their order."""
    wanted, there = ([part.lower().replace("-", "_").partition(".")[0] for part in some] for some in (owner, parts[:-1]))
    beside = 0
    while beside < min(len(wanted), len(there)) and wanted[-beside - 1] == there[-beside - 1]:
        beside += 1
    rest = reversed(there)
    return 1 + beside if all(part in rest for part in reversed(wanted)) else 0


def _fitting(excerpts: Iterable[Excerpt], before: Sequence[Excerpt], room: float) -> list[Excerpt]:
    """Those of the excerpts that nothing shows ``before`` and that fit into ``room`` with it."""
    seen, used = {(one.path, one.lines) for one in before}, _size(before)
    found: list[Excerpt] = []
    for one in excerpts:
        size = _size([*found[-1:], one]) - _size(found[-1:])
        if (one.path, one.lines) not in seen and used + size <= room:
            found.append(one)
            used += size
            seen.add((one.path, one.lines))
    return found


def _printed(excerpts: Sequence[Excerpt]) -> str:
    """The excerpts as text; lines around one definition, and those of one outline, stand under one title."""
    text, before = "", ("", "")
    for one in excerpts:
        sure = f" ({'; '.join([f'{one.confidence:.0%}', *one.reasons])})" if one.confidence is not None else ""
        if one.kind in _TITLES:
            text += f"\n\n## {_TITLES[one.kind]} {printable(one.of + sure)}" if before != (one.kind, one.of) else ""
            where = "" if one.kind == "outline" else f"{one.path}:"
            line = printable(f"{where}{one.shown[0][0]}  {one.function or ''}".rstrip())
            text += f"\n{line}: {one.text.strip()}"
        else:
            title = f"{one.path}:{one.lines[0]}-{one.lines[1]}  {one.function or 'the file'}"
            text += f"\n\n## {printable(title + sure)}\n{one.text}"
        before = (one.kind, one.of)
    return text.strip("\n")


def _size(excerpts: Sequence[Excerpt]) -> int:
    """Bytes that excerpts add to a text."""
    return _bytes(_printed(excerpts)) + 1 if excerpts else 0


def _bytes(line: str) -> int:
    return len(line.encode("utf-8", "replace")) + 1
