"""The ranker together with released answers: fused with them, and answering alone where it is sure."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from experiments.evidence.measures import F1, ONE_FILE, RANKED, best_readings, interval, one_file, table
from experiments.evidence.systems import RELEASED, System, read_as
from fusesearch.core.schema import Score
from fusesearch.evaluation.statistics import compare, measure
from fusesearch.localizers.fusion import fused
from fusesearch.localizers.order import FILES, FUNCTIONS

READING = "first file"
"""How a fused answer is read for F1; a released one is read in the way that gives it the highest F1."""
SURE = (0.6, 0.7, 0.8)
"""Confidences from which the ranker answers alone."""


def released_of(systems: Mapping[str, System]) -> dict[str, System]:
    """Those that are released answers."""
    return {run.name: systems[run.name] for run in RELEASED if run.name in systems}


def together(ranker: System, own: System, systems: Mapping[str, System]) -> dict[str, Any]:
    """Rows per released system: its answers fused with the ranker's, and the ranker's ``own`` where it is sure."""
    theirs = released_of(systems)
    readings = best_readings(table(theirs))
    alone = {name: [*system.scores.values()] for name, system in theirs.items()}
    as_sets = {name: one_file(scores, readings[name]) for name, scores in alone.items()}
    return {"fusion": _fusion(ranker, alone, as_sets), "routing": _routing(ranker, own, alone, readings, as_sets)}


def _fusion(ranker: System, alone: Mapping[str, list[Score]], as_sets: Mapping[str, list[Score]]) -> list[dict[str, Any]]:
    both = {name: [fuse(score, ranker) for score in scores] for name, scores in alone.items()}
    sets = {name: one_file(scores, READING) for name, scores in both.items()}
    ours = one_file(ranker.scores.values(), READING)
    gains = _paired(both, alone, RANKED) | _paired(sets, as_sets, {"f1": F1})
    over_ranker = _paired(sets, dict.fromkeys(sets, ours), {"f1": F1})
    return [
        {"system": name, "alone": interval(measure({0: as_sets[name]}, F1)), "fused": interval(measure({0: sets[name]}, F1))}
        | {"gain": {metric: gains[metric, name] for metric in ("f1", *RANKED)}, "over ranker": over_ranker["f1", name]}
        for name in both
    ]


def _routing(
    ranker: System,
    own: System,
    alone: Mapping[str, list[Score]],
    readings: Mapping[str, str],
    as_sets: Mapping[str, list[Score]],
) -> list[dict[str, Any]]:
    rows = []
    for sure in SURE:
        kept = {key for key, confidence in ranker.confidence.items() if confidence >= sure}
        routed = {
            name: [own.scores[score.instance_id] if score.instance_id in kept else score for score in scores]
            for name, scores in alone.items()
        }
        read = {
            name: ONE_FILE.view([score if score.instance_id in kept else read_as(readings[name], score) for score in scores])
            for name, scores in routed.items()
        }
        lost = _paired(routed, alone, RANKED) | _paired(read, as_sets, {"f1": F1})
        rows += [
            {"system": name, "sure": sure, "saved": fmean(score.instance_id in kept for score in scores)}
            | {"f1": interval(measure({0: read[name]}, F1)), "gain": {metric: lost[metric, name] for metric in ("f1", *RANKED)}}
            for name, scores in routed.items()
        ]
    return rows


def _paired(first: Mapping[str, list[Score]], second: Mapping[str, list[Score]], figures: Any) -> dict[tuple[str, str], Any]:
    """``first - second`` of each system by metric and name; p after Holm's correction over the systems."""
    arms = {f"{name} 1": {0: scores} for name, scores in first.items()}
    arms |= {f"{name} 2": {0: scores} for name, scores in second.items()}
    found = compare(arms, [(f"{name} 1", f"{name} 2") for name in first], figures)
    return {(row.metric, row.first.removesuffix(" 1")): row.model_dump(mode="json") for row in found}


def fuse(score: Score, ranker: System) -> Score:
    """A released answer with the ranker's: five files, and ten functions in them."""
    known = ranker.probabilities[score.instance_id]
    by_file = {name: value for name, value in known.items() if "::" not in name}
    by_function = {name: value for name, value in known.items() if "::" in name}
    files = fused(score.predicted_files, by_file, FILES)[:FILES]
    functions = [name for name in fused(score.predicted_functions, by_function, FUNCTIONS) if name.partition("::")[0] in files]
    return score.model_copy(update={"predicted_files": files, "predicted_functions": functions[:FUNCTIONS]})
