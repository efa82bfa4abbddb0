"""Cases to read (FuseSearch appendix E, ToolTrain appendix B): instances that a rule chooses by the F1 of the arms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

from fusesearch.core.digests import digest
from fusesearch.core.schema import Score
from fusesearch.reporting.page import Section
from fusesearch.reporting.table import Row, Table, shown

TYPICAL = "closest to every arm's mean F1"
TEXT = (
    "Chosen by rule: of each two neighbouring arms the instance whose F1 gains most and the one that loses most, and the one "
    "closest to every arm's mean. Among equals chance decides, the same every time. The dashboard shows their episodes under "
    "Trajectories; `fusesearch view artifacts/evaluate/cells/ARM/trajectories.jsonl --instance ID` writes the page of one."
)


class Case(NamedTuple):
    """An instance, the rule that chose it, and its F1 by arm."""

    instance_id: str
    rule: str
    f1: Mapping[str, float]


def choose(arms: Mapping[str, Sequence[Score]]) -> list[Case]:
    """The instances whose F1 gains and loses most between each two neighbouring arms, and the typical one, by the first run.

    Among equals the one whose id has the smallest digest; no instance twice. A rule that nothing fits has no case, and arms
    without a scored instance in common have none.
    """
    figures = {
        name: {row.instance_id: row.f1 for row in scores if row.run == 0 and row.f1 is not None} for name, scores in arms.items()
    }
    common = sorted(set.intersection(*map(set, figures.values())), key=digest) if figures else []
    if not common:
        return []
    means = {name: fmean(known[key] for key in common) for name, known in figures.items()}
    ratings = {TYPICAL: {key: -sum(abs(known[key] - means[name]) for name, known in figures.items()) for key in common}}
    for first, second in pairwise(figures):
        gains = {key: figures[second][key] - figures[first][key] for key in common}
        ratings[f"gains most from {first} to {second}"] = gains
        ratings[f"loses most from {first} to {second}"] = {key: -gain for key, gain in gains.items()}
    cases: dict[str, Case] = {}
    for rule, values in ratings.items():
        best = max((key for key in common if key not in cases), key=lambda key: values[key], default=None)
        if best is not None and (rule == TYPICAL or values[best] > 0):
            cases[best] = Case(best, rule, {name: known[best] for name, known in figures.items()})
    return list(cases.values())


def section(arms: Mapping[str, Sequence[Score]]) -> Section:
    """A table of the cases of these arms."""
    rows = [Row([case.instance_id, case.rule, *map(shown, case.f1.values())]) for case in choose(arms)]
    return Section("Cases", [TEXT], [Table("F1 by arm", ["instance", "why it is here", *arms], rows)] if rows else [])
