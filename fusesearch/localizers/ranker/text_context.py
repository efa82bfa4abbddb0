"""What to read for a text such as an issue: the likely functions of the ranker's answer, what is around them, outlines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import islice

from fusesearch.code.spans import FunctionSpan
from fusesearch.core.schema import Context, Location, Place
from fusesearch.localizers.ranker.answer import Ranking, location
from fusesearch.localizers.ranker.evidence import draw_evidence
from fusesearch.localizers.ranker.excerpts import Page
from fusesearch.localizers.ranker.facts import IDENTIFIER, words_of
from fusesearch.localizers.ranker.index import Index
from fusesearch.localizers.ranker.neighbours import Neighbours, Spot
from fusesearch.localizers.ranker.places import LEAST, lines_of

BODIES, AROUND = 0.6, 0.8
"""Shares of the page up to which bodies stand, and then what is around them."""

MAX_SPOTS, CALLERS = 20, 5
"""Bodies whose neighbours are looked up, and callers of each, at most."""


def about_text(issue: str, index: Index, tokens: int, ranking: Ranking, places: Sequence[Place]) -> Context:
    """The functions of the answer stand first, then others of its files. A file without any counts as one."""
    code = Neighbours(index)
    page = Page(code, tokens)
    places = [place for number, place in enumerate(places) if number == 0 or (place.confidence or LEAST) >= LEAST]
    evidence = draw_evidence(issue)
    told = [*((one.path, one.line) for one in evidence.frames), *((one.path, one.line) for one in evidence.paths)]
    named = {(path.replace("\\", "/").rpartition("/")[2], line) for path, line in told}

    def weight(path: str, line: int) -> float:
        """How much of the issue a line has: its words, the rarer the more, and lines that the issue names."""
        words = {word for name in IDENTIFIER.findall(code.lines(path)[line - 1]) for word in words_of(name)}
        shared = sum(1 / math.log(2 + files) for word in sorted(words) if (files := ranking.words.get(word)))
        return shared + 10 * ((path.rpartition("/")[2], line) in named)

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
        page.fill((page.head("callee", callee, spot.entity) for callee in code.callees(spot)), AROUND)
        calls = (use for use in code.uses(spot) if use.sure and use.spot.span.name)
        page.fill((page.use("caller", use, spot.entity) for use in islice(calls, CALLERS)), AROUND)
    order = {one.candidate.entity: number for number, one in enumerate(ranking.functions)}
    for number, place in enumerate(places, 1):  # the outline of the first file may take half of what is left, and so on
        found = [Spot(place.path, span) for span in code.functions(place.path)]
        found.sort(key=lambda spot: order.get(spot.entity, len(order)))
        share = 1 if number == len(places) else 1 - page.left / 2
        page.fill((page.head("outline", spot, place.path, place) for spot in found), share)
    for spot, one in bodies.items():
        page.body("function", spot, 1, one, partial(weight, one.path))
    return page.context()
