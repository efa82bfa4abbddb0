"""The figures of an experiment, drawn from its results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fusesearch.evaluation.metrics import METRICS, Metric
from fusesearch.reporting import charts
from fusesearch.reporting.experiment.results import ArmResult, ClaimResult, Results
from fusesearch.reporting.page import Figure

OTHER_SCALE = ("time_s", "tokens_k")
"""Columns of the paper on a scale unlike ours: its differences would squeeze ours to a point."""

ALWAYS = ("arms", "differences")
"""Drawn for every experiment. ``figures`` in its YAML adds others."""


def draw(names: Iterable[str], results: Results) -> list[Figure]:
    """The figures in :data:`ALWAYS` and in ``names``, without those that have no data."""
    drawn: list[Figure] = []
    for name in dict.fromkeys((*ALWAYS, *names)):
        caption, of = FIGURES[name]
        drawn += charts.figure(name, caption, of(results))
    return drawn


def arms(results: Results) -> Any:
    """The primary metric of each arm: interval, each seed's figure, and the paper's."""
    of = METRICS[results.primary]
    rows = [row for arm in results.arms for row in marks(arm, of)]
    seeds = [
        {"arm": arm.label, "who": "ours", "value": value * of.factor}
        for arm in results.arms
        if of.key in arm.figures
        for value in arm.figures[of.key].by_seed.values()
    ]
    return charts.estimates(rows, of.heading, seeds) if rows else None


def marks(arm: ArmResult, of: Metric) -> list[dict[str, Any]]:
    """An arm's figure and the paper's, as rows of :func:`fusesearch.reporting.charts.estimates`."""
    found = arm.figures.get(of.key)
    if found is None:
        return []
    rows = [{"arm": arm.label, "who": "ours", **charts.whisker(found, of)}]
    if found.paper is not None:
        rows.append({"arm": arm.label, "who": "the paper", "value": found.paper, "low": None, "high": None})
    return rows


def differences(results: Results) -> Any:
    """The differences that claims compare, a panel per metric. Colour shows whether the corrected test decides."""
    groups: dict[str, list[ClaimResult]] = {}
    for claim in results.claims:
        if claim.estimate is not None:
            groups.setdefault(claim.metric, []).append(claim)
    parts = [(METRICS[key].of_differences, [_claim(results, claim) for claim in found]) for key, found in groups.items()]
    return charts.difference_panels(parts)


def _claim(results: Results, claim: ClaimResult) -> dict[str, Any]:
    of = METRICS[claim.metric]
    better, than = results.labels[claim.better], results.labels[claim.than]
    pair = f"{better} − {than}"  # noqa: RUF001
    margin = None if claim.margin is None else of.factor * (claim.margin if claim.lower else -claim.margin)
    return {
        "pair": f"{pair} (margin)" if claim.margin else pair,
        "verdict": charts.DECIDED if claim.verdict in ("confirmed", "refuted") else charts.UNDECIDED,
        "paper": None if of.paper in OTHER_SCALE else claim.paper_difference,
        "margin": margin,
        **charts.whisker(claim, of),
    }


def calls_by_turn(results: Results) -> Any:
    """Calls of tool-using turns by turn index, with the range over seeds (FuseSearch figure 3)."""
    rows = [{"name": arm.label, **row.model_dump()} for arm in results.arms for row in arm.calls_by_turn]
    return charts.profile(rows, [arm.name for arm in results.arms], results.labels)


FIGURES: dict[str, tuple[str, Callable[[Results], Any]]] = {
    "arms": ("The primary metric by arm, with 95% intervals over instances and seeds; ticks are single seeds", arms),
    "differences": (
        "What the claims compare, with 95% intervals; diamonds are the paper's differences, ticks the margins of claims",
        differences,
    ),
    "calls_by_turn": ("Calls of tool-using turns by turn index; bands are the range over seeds", calls_by_turn),
}
"""Caption and drawing function by the name in an experiment's ``figures``."""
