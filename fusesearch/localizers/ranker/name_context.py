"""What to read for a name: its definitions, lines that use it, what it calls, lines of tests; or what a change of it concerns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import islice, takewhile

from fusesearch.code.kinds import is_foreign, is_test
from fusesearch.code.other.plain import declared
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Context
from fusesearch.localizers.ranker.columns import is_common
from fusesearch.localizers.ranker.excerpts import Page
from fusesearch.localizers.ranker.facts import IDENTIFIER, term_of
from fusesearch.localizers.ranker.index import Index
from fusesearch.localizers.ranker.neighbours import Neighbours, Spot
from fusesearch.localizers.ranker.paths import family

BODIES, AROUND, PERHAPS = 0.6, 0.8, 0.9
"""Shares of the page up to which definitions stand, then what is around them, then what has the name and may mean another."""

MAX_SPOTS, MAX_USES = 20, 200
"""Definitions, or callers on one step of an impact, whose uses are looked up, and uses of each."""


def about_name(path: str, name: str, index: Index, tokens: int, impact: bool = False) -> Context:
    """All definitions of a name, and what is around them. Raises :class:`DataError` if nothing has it."""
    code, last, allowed = Neighbours(index), name.rpartition(".")[2], index.repository.allowed
    having = (file for file, facts in index.facts(index.paths) if facts.find(term_of(last)) >= 0)
    files = sorted(having, key=lambda file: (is_foreign(file), file))
    tests = [file for file in index.repository.files() if is_test(file) and allowed(file)]
    found = (_defined(code, [file for file in part if file.endswith(path)], last) for part in (files, tests))
    spots, fits = _owned(name.split(".")[:-1], index.repository.root.name, next(filter(None, found), []))
    spots = [one for one in spots if not any(one.lies_in(other) for other in spots)]
    spots = [one for one in spots if allowed(one.path)] or spots
    page = Page(code, tokens, "" if fits else f"`{name}` is not defined here{f', but `{last}` is' if spots else ''}.")
    for spot in () if impact else spots:
        page.body("definition", spot, BODIES)
    page.fill((page.line("definition", spot) for spot in spots), AROUND)
    spots = list({one.entity: one for one in spots}.values())[:MAX_SPOTS]
    code.learn(spots, callees=not impact)
    uses = {spot: list(islice(code.uses(spot), MAX_USES)) for spot in spots}
    for spot in spots:
        page.fill((page.line("caller", use.spot, spot.entity, use.line) for use in uses[spot] if use.sure), AROUND)
    steps = _steps(page, code, spots) if impact else []
    for spot in () if impact else spots:
        page.fill((page.line("callee", callee, spot.entity) for callee in code.callees(spot)), AROUND)
    unsure = [use for some in uses.values() for use in some if not use.sure]
    unsure += [use for file in files if not spots for use in code.words(file, last)][:MAX_USES]
    page.fill((page.line("use", use.spot, last, use.line) for use in unsure), PERHAPS)
    kinds, names = {family(one.path) for one in spots}, {last, *(one.holder for one in spots)}
    tests = [file for file in tests if not kinds or family(file) in kinds]
    if impact:
        context = page.context(_concerned(index, tests, steps))
    else:
        tests = [file for file in tests if last in index.source(file)]
        tests.sort(key=lambda file: -sum(name in file or name in index.source(file) for name in names))
        page.fill(page.line("test", use.spot, last, use.line) for file in tests for use in code.words(file, last))
        context = page.context()
    if spots and not context.excerpts:
        raise DataError(f"nothing of {name} fits: allow more tokens or other files")
    if not context.excerpts:
        raise DataError(f"nothing here is called {name}{_nearest(last, index)}")
    return context.model_copy(update={"name": name})


def _defined(code: Neighbours, files: Iterable[str], last: str) -> list[Spot]:
    """What has the last part of the name as its own: functions, and what declares it by its form."""
    found: list[Spot] = []
    for file in (file for file in files if last in code.index.source(file)):
        spans = code.functions(file)
        own = [span for span in spans if f".{span.name}".endswith(f".{last}")]
        found += [Spot(file, span) for span in sorted([*own, *declared(file, code.lines(file), last, spans)])]
    return found


def _owned(owner: Sequence[str], root: str, found: Sequence[Spot]) -> tuple[list[Spot], bool]:
    """Those whose path and name have the most of the parts before the last, and whether any has; else all.

    The first parts may be missing, such as the package's own name, and others may stand between, as in what is exported.
    """
    wanted = [part.lower().replace("-", "_") for part in reversed(owner)]

    def fit(spot: Spot) -> tuple[int, int]:
        """How many parts of the owner stand there in their order, and how many right before the last."""
        names = [root, *spot.path.split("/"), *spot.span.name.split(".")[:-1]]
        parts = [part.lower().replace("-", "_").partition(".")[0] for part in reversed(names)]
        rest = iter(parts)
        beside = takewhile(lambda pair: pair[0] == pair[1], zip(parts, wanted, strict=False))
        return sum(1 for _ in takewhile(lambda part: part in rest, wanted)), sum(1 for _ in beside)

    most = max(map(fit, found), default=(0, 0))
    return [spot for spot in found if fit(spot) == most or not most[0]], bool(found) and (most[0] > 0 or not owner)


def _steps(page: Page, code: Neighbours, spots: list[Spot]) -> list[list[Spot]]:
    """The definitions, their callers, the callers of these, and so on while the page has room for their lines."""
    steps, seen = [spots], set(spots)
    while steps[-1] and page.left > 1 - AROUND:
        uses = [use for spot in steps[-1] for use in islice(code.uses(spot), MAX_USES) if use.sure]
        page.fill((page.line("impact", use.spot, str(len(steps)), use.line) for use in uses if len(steps) > 1), AROUND)
        steps.append([one for one in dict.fromkeys(use.spot for use in uses) if one.span.name and one not in seen][:MAX_SPOTS])
        seen.update(steps[-1])
        code.learn(steps[-1], callees=False)
    return steps


def _concerned(index: Index, tests: Iterable[str], steps: Sequence[Sequence[Spot]]) -> list[str]:
    """The files of tests that name what is on a step, the nearest steps first; callers with what holds them."""
    found: dict[str, int] = {}
    for file in tests:
        words = set(IDENTIFIER.findall(index.source(file)))
        for number, one in ((number, one) for number, step in enumerate(steps) for one in step if file not in found):
            held = not number or one.holder in words or not ("." in one.span.name or is_common(one.called))
            if held and one.called.rstrip("?!=") in words:
                found[file] = number
    return sorted(found, key=lambda file: (found[file], file))


def _nearest(last: str, index: Index) -> str:
    """The names that are most similar."""
    facts = (facts for _, facts in index.facts(index.paths))
    names = {name for one in facts for name in (*one.classes, *(span.name.rpartition(".")[2] for span in one.functions))}
    alike = {name.lower(): name for name in sorted(names) if abs(len(name) - len(last)) < 5}
    close = get_close_matches(last.lower(), alike)
    return f"; near: {', '.join(alike[name] for name in close)}" if close else ""
