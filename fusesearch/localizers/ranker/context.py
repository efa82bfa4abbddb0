"""What to read within a budget of tokens: for a text such as an issue, or for a name (:mod:`.name_context`).

For a text, the likely functions of the answer stand first, in full; a long one is cut around the lines that share the words of
the text. Then follow lines that call them and heads of what they call, and outlines of the likely files.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from fusesearch.code.kinds import is_code, is_test
from fusesearch.code.naming import read_name, unwrapped
from fusesearch.code.spans import FunctionSpan
from fusesearch.core.caches import Caches
from fusesearch.core.errors import DataError, OptionError
from fusesearch.core.schema import Context, Location, Place
from fusesearch.localizers.ranker import answer_in, models
from fusesearch.localizers.ranker.answer import Ranking, as_answer, location
from fusesearch.localizers.ranker.building import Progress
from fusesearch.localizers.ranker.evidence import draw_evidence
from fusesearch.localizers.ranker.excerpts import Page
from fusesearch.localizers.ranker.facts import IDENTIFIER, words_of
from fusesearch.localizers.ranker.index import Index
from fusesearch.localizers.ranker.name_context import AROUND, BODIES, MAX_SPOTS, about_name
from fusesearch.localizers.ranker.neighbours import Neighbours, Spot
from fusesearch.localizers.ranker.places import LEAST, lines_of
from fusesearch.localizers.ranker.within import within
from fusesearch.search.repository import Repository

TOKENS, LEAST_TOKENS, MOST_TOKENS = 4000, 100, 100_000
CALLERS = 5
"""Callers of a function of a text, at most."""


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
            return about_name(*named, index, tokens, impact)
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
    code = Neighbours(index)
    page = Page(code, tokens)
    evidence = draw_evidence(text)
    told = [*((one.path, one.line) for one in evidence.frames), *((one.path, one.line) for one in evidence.paths)]
    named = {(path.replace("\\", "/").rpartition("/")[2], line) for path, line in told}

    def weight(path: str, line: int) -> float:
        """How much of the text a line has: its words, the rarer the more, and lines that the text names."""
        words = {word for name in IDENTIFIER.findall(code.lines(path)[line - 1]) for word in words_of(name)}
        shared = sum(1 / math.log(2 + files) for word in sorted(words) if (files := ranking.words.get(word)))
        return shared + 10 * ((path.rpartition("/")[2], line) in named)

    places = [place for number, place in enumerate(places) if number == 0 or (place.confidence or LEAST) >= LEAST]
    paths, having = {place.path for place in places}, {one.candidate.path for one in ranking.functions}
    likely = [one for one in ranking.functions if one.candidate.path in paths and one.probability >= LEAST]
    rows = [location(one.candidate.entity, one.probability, ranking.reasons(one.candidate), lines_of(one)) for one in likely]
    rows += [location(one.path, one.confidence or 0, one.reasons) for one in places if one.path not in having]
    answered = {one.entity for place in places for one in place.functions}
    wanted = [Location.model_validate(row) for row in rows]
    if places[0].confidence is None:  # of a search
        wanted = [one for place in places for one in place.functions or [Location(path=place.path)]]
    wanted.sort(key=lambda one: (one.function is not None and one.entity not in answered, -(one.confidence or 0)))
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
