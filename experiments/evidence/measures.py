"""Figures and paired differences of systems over the same instances, under one rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean, median
from typing import Any

from experiments.evidence.systems import READINGS, System, read_as
from fusesearch.core.schema import Score
from fusesearch.evaluation.calibration import calibration
from fusesearch.evaluation.protocols import PROTOCOLS
from fusesearch.evaluation.quality import recall_at
from fusesearch.evaluation.statistics import Difference, Measured, Statistic, averaged, combined_pooled_f1, compare, measure

RANKED = {
    f"{level}_recall@{k}": averaged(f"{level}_recall@{k}", level, partial(recall_at, k=k))
    for level in ("file", "function")
    for k in (1, 5)
}
"""Over all instances, functions over those that modify one."""
F1 = combined_pooled_f1("f1")
"""Pooled, over the instances of the protocol ``fusesearch``."""
ONE_FILE = PROTOCOLS["fusesearch"]


def table(systems: Mapping[str, System]) -> list[dict[str, Any]]:
    """A row per system: ranked figures with intervals, F1 under every reading, seconds an issue."""
    rows = []
    for name, system in systems.items():
        scores = list(system.scores.values())
        figures = {key: interval(measure({0: scores}, statistic)) for key, statistic in RANKED.items()}
        for reading in READINGS:
            figures[f"f1 {reading}"] = interval(measure({0: one_file(scores, reading)}, F1))
        rows.append({"system": name, "instances": len(scores), **figures, "seconds": _seconds(system.seconds)})
    return rows


def one_file(scores: Iterable[Score], reading: str) -> list[Score]:
    """The answers on the instances that modify one file, read as sets."""
    return ONE_FILE.view([read_as(reading, score) for score in scores])


def differences(systems: Mapping[str, System], first: str, readings: Mapping[str, str]) -> list[Difference]:
    """``first`` minus every other system, paired over instances; p after Holm's correction over the systems.

    ``readings`` says how each system's answer is read for F1.
    """
    arms = {name: {0: list(system.scores.values())} for name, system in systems.items()}
    sets = {name: {0: one_file(system.scores.values(), readings[name])} for name, system in systems.items()}
    pairs = [(first, name) for name in systems if name != first]
    ranked: dict[str, Statistic] = dict(RANKED)
    return compare(arms, pairs, ranked) + compare(sets, pairs, {"f1": F1})


def best_readings(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The reading of each row of :func:`table` that gives it the highest F1."""
    return {row["system"]: max(READINGS, key=lambda reading: row[f"f1 {reading}"]["estimate"]) for row in rows}


def by_group(systems: Mapping[str, System], names: Sequence[str], what: str, groups: Mapping[str, str]) -> list[dict[str, Any]]:
    """First file and first function right, in percent, by the group of an instance; ``what`` says what the groups are."""
    rows = []
    for group, count in Counter(groups[key] for key in next(iter(systems.values())).scores).most_common():
        row: dict[str, Any] = {what: group, "instances": count}
        for name in names:
            scores = {0: [score for key, score in systems[name].scores.items() if groups[key] == group]}
            for metric in ("file_recall@1", "function_recall@1"):
                found = measure(scores, RANKED[metric])
                row[f"{name}: {metric}"] = None if found is None else found.estimate
        rows.append(row)
    return rows


def confidence_of(system: System) -> dict[str, Any]:
    """How often the first file is right, by the confidence that the system states for it."""
    pairs = [(system.confidence[key], score) for key, score in system.scores.items() if key in system.confidence]
    return calibration((stated, bool({*score.predicted_files[:1]} & {*score.true_files})) for stated, score in pairs)


def interval(found: Measured | None) -> dict[str, Any] | None:
    """A figure as JSON values."""
    return None if found is None else {"estimate": found.estimate, "low": found.low, "high": found.high, "n": found.instances}


def _seconds(seconds: Sequence[float]) -> dict[str, float] | None:
    return {"mean": fmean(seconds), "median": median(seconds), "longest": max(seconds)} if seconds else None


READING = "first file"
"""How the ranker is read for F1; every other system is read in the way that gives it the highest F1."""
