"""What to read within a budget of tokens: for a text such as an issue, or for a name.

For a text, the likely functions of the answer stand first, in full; a long one is cut around the lines that share the words of
the text. Then follow lines that call them and heads of what they call, and outlines of the likely files. For a name: its
definitions, lines that use it, what it calls, lines of tests; or what a change of it concerns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import islice, takewhile
from operator import eq
from pathlib import Path
from typing import Any, Literal

from fusesearch.code.kinds import is_code, is_foreign, is_test
from fusesearch.code.naming import read_name, unwrapped
from fusesearch.code.other.plain import declared
from fusesearch.code.spans import FunctionSpan
from fusesearch.core.caches import Caches
from fusesearch.core.errors import DataError, OptionError
from fusesearch.core.schema import Context, Location, Place
from fusesearch.localizers.ranker import answer_in, models
from fusesearch.localizers.ranker.answer import Ranking, as_answer, location
from fusesearch.localizers.ranker.building import Progress
from fusesearch.localizers.ranker.columns import is_common
from fusesearch.localizers.ranker.evidence import draw_evidence
from fusesearch.localizers.ranker.excerpts import Page
from fusesearch.localizers.ranker.facts import IDENTIFIER, term_of, words_of
from fusesearch.localizers.ranker.index import Index
from fusesearch.localizers.ranker.neighbours import Neighbours, Spot
from fusesearch.localizers.ranker.paths import family
from fusesearch.localizers.ranker.places import LEAST, lines_of
from fusesearch.localizers.ranker.within import within
from fusesearch.search.repository import Repository

TOKENS, LEAST_TOKENS, MOST_TOKENS = 4000, 100, 100_000
BODIES, AROUND, PERHAPS = 0.6, 0.8, 0.9
"""Shares of the page up to which bodies stand, then what is around them, then what has a name and may mean another."""
CALLERS, MAX_USES, MAX_SPOTS = 5, 200, 20
"""Callers of a function of a text, and of a name; functions, or callers on one step of an impact, whose uses are looked up."""


def context(repo: str | Path, text: str, tokens: int = TOKENS, impact: bool = False, **filters: Any) -> Context:
    """What to read in the directory ``repo`` for ``text``, in at most ``tokens`` tokens, as on the command line.

    ``text`` is that of an issue, or a name as :func:`name_in` reads it; ``impact`` is what a change of the name may concern.
    ``context(...).text`` is for a prompt, ``excerpts`` have the parts. ``filters`` are those of
    :func:`~fusesearch.localizers.ranker.within.within`. Nothing in the directory is changed or run.

    Raises:
        DataError: the text is empty, nothing has the name, or ``tokens`` is out of bounds.
        OptionError: no file fits the filters, or ``impact`` of what is no name.
        RepositoryError: the directory cannot be read.
    """
    return context_of(text, within(Repository(Path(repo)), **filters), tokens, impact=impact)


def context_of(
    text: str, repository: Repository, tokens: int = TOKENS, folder: Path | None = None, on_progress: Progress | None = None,
    impact: bool = False,
) -> Context:  # fmt: skip
    """:func:`context` of a repository; ``folder`` is where the index lies, by default in the user's caches."""
    if not text.strip():
        raise DataError("the issue is empty")
    if not LEAST_TOKENS <= tokens <= MOST_TOKENS:
        raise DataError(f"tokens must be a number from {LEAST_TOKENS} to {MOST_TOKENS}")
    named = name_in(text)
    if impact and not named:
        raise OptionError("impact", "give a name, such as Cart.total: an issue has none")
    if named is None:
        models()  # raises before an index is made
    with Index(repository, folder or Caches().index, on_progress) as index:
        if named is not None:
            return _about_name(*named, index, tokens, impact)
        ranking, fields = answer_in(text, index)
        places = as_answer(fields).places
        return _about_text(text, index, tokens, ranking, places) if places else Context(budget=tokens)


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


def _about_text(text: str, index: Index, tokens: int, ranking: Ranking, places: Sequence[Place]) -> Context:
    """The functions of the answer stand first, then others of its files. A file without any counts as one."""
    code, search = Neighbours(index), places[0].confidence is None
    page = Page(code, tokens, "" if search else "%: the chance that the fix modifies the function, or the file.")
    evidence = draw_evidence(text)
    lines = [(one.path, one.line) for one in evidence.frames] + [(one.path, one.line) for one in evidence.paths]
    named = {(path.replace("\\", "/").rpartition("/")[2], line) for path, line in lines}

    def weight(path: str, line: int) -> float:
        """How much of the text a line has: its words, the rarer the more, and lines that the text names."""
        words = {word for name in IDENTIFIER.findall(code.lines(path)[line - 1]) for word in words_of(name)}
        shared = sum(1 / math.log(2 + files) for word in sorted(words) if (files := ranking.words.get(word)))
        return shared + 10 * ((path.rpartition("/")[2], line) in named)

    places = [place for place in places if place is places[0] or search or (place.confidence or 0) >= LEAST]
    having, paths = {one.candidate.path for one in ranking.functions}, {place.path for place in places}
    wanted = [one for place in places for one in place.functions]
    whole = [place for place in places if not place.functions and (search or place.path not in having)]
    wanted += [Location(path=place.path, confidence=place.confidence, reasons=place.reasons) for place in whole]
    wanted.sort(key=lambda one: -(one.confidence or 0))
    likely = [one for one in ranking.functions if not search and one.candidate.path in paths and one.probability >= LEAST]
    rows = (location(one.candidate.entity, one.probability, ranking.reasons(one.candidate), lines_of(one)) for one in likely)
    wanted += map(Location.model_validate, rows)
    bodies = {Spot(one.path, FunctionSpan(*(one.lines or (1, 1 << 30)), one.function or "")): one for one in wanted}
    shown = [spot for spot, one in bodies.items() if page.body("function", spot, BODIES, one, partial(weight, one.path))]
    spots = [spot for spot in shown if spot.span.name][:MAX_SPOTS]
    code.learn(spots)
    for spot in spots:
        page.fill((page.line("callee", callee, spot.entity) for callee in code.callees(spot)), AROUND)
        calls = (use for use in code.uses(spot) if use.sure and use.spot.span.name)
        page.fill((page.line("caller", use.spot, spot.entity, use.line) for use in islice(calls, CALLERS)), AROUND)
    order = {one.candidate.entity: number for number, one in enumerate(ranking.functions)}
    for number, place in enumerate(places, 1):  # the outline of the first file may take half of what is left, and so on
        found = [Spot(place.path, span) for span in code.functions(place.path)]
        found.sort(key=lambda spot: order.get(spot.entity, len(order)))
        share = 1 if number == len(places) else 1 - page.left / 2
        page.fill((page.line("outline", spot, place.path, place=place) for spot in found), share)
    for spot, one in bodies.items():
        page.body("function", spot, 1, one, partial(weight, one.path))
    return page.context()


def _about_name(path: str, name: str, index: Index, tokens: int, impact: bool) -> Context:
    """All definitions of a name, and what is around them. Raises :class:`DataError` if nothing has it."""
    code, last, allowed = Neighbours(index), name.rpartition(".")[2], index.repository.allowed
    known = (file for file, facts in index.facts(index.paths) if facts.find(term_of(last)) >= 0)
    files = sorted(known, key=lambda file: (is_foreign(file), file))
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
    unsure = [use for file in files if not spots for use in code.words(file, last)][:MAX_USES]
    steps = [spots]
    while steps[-1] and (len(steps) == 1 or (impact and page.left > 1 - AROUND)):  # callers, callers of these, and so on
        following: list[Spot] = []
        for spot in steps[-1]:
            kind: Literal["caller", "impact"] = "caller" if len(steps) == 1 else "impact"
            of = spot.entity if len(steps) == 1 else str(len(steps))
            uses = list(islice(code.uses(spot), MAX_USES))
            page.fill((page.line(kind, use.spot, of, use.line) for use in uses if use.sure), AROUND)
            unsure += [use for use in uses if len(steps) == 1 and not use.sure]
            following += [use.spot for use in uses if use.sure and use.spot.span.name]
        steps.append([one for one in dict.fromkeys(following) if all(one not in step for step in steps)][:MAX_SPOTS])
        code.learn(steps[-1] if impact else [], callees=False)
    for spot in () if impact else spots:
        page.fill((page.line("callee", callee, spot.entity) for callee in code.callees(spot)), AROUND)
    page.fill((page.line("use", use.spot, last, use.line) for use in unsure), PERHAPS)
    having = (file for file in tests if last in index.source(file))
    tests = _concerned(index, tests, steps if impact else [spots]) if spots else list(having)
    page.fill(page.line("test", use.spot, last, use.line) for file in tests if not impact for use in code.words(file, last))
    context = page.context(tests if impact else ())
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
        found += [Spot(file, span) for span in sorted([*own, *declared(file, code.lines(file), last, list(spans))])]
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
        return len([*takewhile(lambda part: part in rest, wanted)]), [*map(eq, parts, wanted), False].index(False)

    most = max(map(fit, found), default=(0, 0))
    return [spot for spot in found if fit(spot) == most or not most[0]], bool(found) and (most[0] > 0 or not owner)


def _concerned(index: Index, tests: Iterable[str], steps: Sequence[Sequence[Spot]]) -> list[str]:
    """The files of tests that name what is on a step, the nearest steps first, then those that name or have what holds it.

    Callers count with what holds them.
    """
    found: dict[str, tuple[int, bool]] = {}
    for file in tests:
        words = set(IDENTIFIER.findall(index.source(file)))
        for number, one in ((number, one) for number, step in enumerate(steps) for one in step if file not in found):
            held = one.holder in words or one.holder in file
            counts = held or not number or not ("." in one.span.name or is_common(one.called))
            if counts and one.called.strip("$?!=") in words and family(file) == family(one.path):
                found[file] = number, not held
    return sorted(found, key=lambda file: (found[file], file))


def _nearest(last: str, index: Index) -> str:
    """The names that are most similar."""
    facts = (facts for _, facts in index.facts(index.paths))
    names = {name for one in facts for name in (*one.classes, *(span.name.rpartition(".")[2] for span in one.functions))}
    alike = {name.lower(): name for name in sorted(names) if abs(len(name) - len(last)) < 5}
    close = get_close_matches(last.lower(), alike)
    return f"; near: {', '.join(alike[name] for name in close)}" if close else ""
