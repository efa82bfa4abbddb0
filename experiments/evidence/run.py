"""All figures of the page: systems by set, arms of training, groups of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from experiments.evidence.cases import in_order, read_cases
from experiments.evidence.commits import fixes
from experiments.evidence.learned import Tables, both, drawn, leave_one_out, of_other_owners
from experiments.evidence.measures import (
    F1,
    RANKED,
    best_readings,
    by_repository,
    confidence_of,
    differences,
    interval,
    one_file,
    table,
)
from experiments.evidence.systems import System, free, released, scored
from tasks.core.config import Rank
from tasks.core.schema import Instance, Score
from tasks.core.storage import read_instances
from tasks.evaluation.statistics import compare, measure
from tasks.localizers.direct import FILES, FUNCTIONS
from tasks.localizers.ranker.trees import COLUMNS, Model, log_odds
from tasks.search.snapshots import SnapshotStore, instance_snapshot
from tasks.training.ranking import Floats, collect, ranked, train, with_files

RANKER = "ranker"
FREE = ("bm25", "lexical")
SHOWN = (RANKER, "bm25", "CoSIL, 32B")
"""Systems of the table by repository."""
READING = "first file"
"""How the ranker's answer is read for F1; every other system has the reading that flatters it most."""
PER_HISTORY = 50
CONFIDENCE = 0.95
DRAWS = 3
SMALL = (50, 200)
GROUPS = {
    "words": ("all", "title", "prose", "block", "code", "text", "rank", "coverage", "best_function", "top_functions", "words"),
    "path": ("path_", "stem_"),
    "names": ("defines_", "named_", "name_", "class_", "pair", "owner_fits"),
    "traceback": ("frame",),
    "calls": ("calls", "called_by"),
    "literals": ("literal", "phrase"),
    "modules": ("module",),
    "history": ("history_",),
    "prior": ("prior",),
}
"""Groups of features by the beginnings of their names, with or without ``file_``."""


@dataclass(frozen=True)
class Given:
    """The files that the page is made from, and ``out``, where everything computed is kept."""

    sets: Mapping[str, Path]
    repos: Path
    cosil: Path
    also: Sequence[Path]
    histories: Sequence[str]
    synthetic: Path | None
    out: Path


def evidence(given: Given, rank: Rank) -> dict[str, Any]:
    """The figures of the page."""
    cases = read_cases({**given.sets, **{path.stem: path for path in given.also}}, given.repos, given.out)
    store = SnapshotStore(given.out / "snapshots")
    snapshots = partial(instance_snapshot, store, given.repos)
    rows = list(in_order(cases.rows.values()))
    real = collect(rows, snapshots, given.out / "features")
    had = set(real["file"]["instance_id"])
    evaluated = [
        row for row in rows if any(row.instance_id in cases.sets[name] for name in given.sets) and row.instance_id in had
    ]
    ours = {RANKER: ranker(real, evaluated, rank)} | {name: free(name, evaluated, snapshots, given.out) for name in FREE}
    theirs = released(given.cosil, cases, given.repos, given.out)
    sets = {name: _of_set([row for row in cases.of(name) if row.instance_id in had], ours | theirs[name]) for name in given.sets}
    return {
        "sets": sets,
        "arms": arms(real, evaluated, other_sources(given, store), rank),
        "ablation": ablation(real, evaluated, rank),
        "left_out": cases.left_out,
        "learned": {"issues": len(had), "repositories": sorted(set(real["file"]["repo"]))},
    }


def ranker(real: Tables, evaluated: Sequence[Instance], rank: Rank) -> System:
    """The ranker; each repository by trees, calibration and weight of the file that saw nothing of its owner."""
    scores: dict[str, Score] = {}
    confidence: dict[str, float] = {}
    for repo in sorted({row.repo for row in evaluated}):
        rankers = train({level: of_other_owners(table, repo) for level, table in real.items()}, rank, 0, {})
        inside = {level: table.filter(pl.col("repo") == repo) for level, table in real.items()}
        found = rankers.scores(inside)
        model = Model.of(rankers.document["file"], COLUMNS["file"])
        files = ranked(inside["file"], found["file"])
        scores |= answers([row for row in evaluated if row.repo == repo], inside, found)
        confidence |= {name: model.probability(log_odds([score for _, score in order])[0]) for name, order in files.items()}
    return System(RANKER, scores, confidence=confidence)


def answers(rows: Sequence[Instance], tables: Tables, scores: Mapping[str, Floats]) -> dict[str, Score]:
    """The best files and functions of each instance, as many as `bm25` gives."""
    files, functions = (ranked(tables[level], scores[level]) for level in ("file", "function"))
    return {
        row.instance_id: scored(
            row,
            [name for name, _ in files[row.instance_id][:FILES]],
            [name for name, _ in functions.get(row.instance_id, [])[:FUNCTIONS]],
        )
        for row in rows
    }


def other_sources(given: Given, store: SnapshotStore) -> dict[str, Tables]:
    """What is learned from besides real issues."""
    found: dict[str, Tables] = {}
    if given.histories:
        rows = [row for repo in given.histories for row in fixes(repo, given.repos, PER_HISTORY)]
        found["commit messages"] = collect(rows, partial(instance_snapshot, store, given.repos), given.out / "commits")
    if given.synthetic:
        rows = read_instances(given.synthetic / "data/filtered/instances.parquet")
        snapshots = partial(instance_snapshot, store, given.synthetic / "data/repos")
        found["synthetic faults"] = collect(rows, snapshots, given.out / "synthetic")
    return found


def arms(real: Tables, evaluated: Sequence[Instance], others: Mapping[str, Tables], rank: Rank) -> list[dict[str, Any]]:
    """What the ranker is worth by what it learned from, each repository by trees that saw nothing of its owner."""
    learned: dict[str, list[Tables]] = {"all real issues": [real]}
    learned |= {f"{count} real issues": [drawn(real, count, seed) for seed in range(DRAWS)] for count in SMALL}
    learned |= {name: [tables] for name, tables in others.items()}
    learned |= {f"all real issues and {name}": [both(real, tables)] for name, tables in others.items()}
    return _compared({name: [(tables, COLUMNS) for tables in found] for name, found in learned.items()}, real, evaluated, rank)


def ablation(real: Tables, evaluated: Sequence[Instance], rank: Rank) -> list[dict[str, Any]]:
    """What the ranker is worth without a group of features."""
    left = {
        group: {level: tuple(name for name in names if not _in(group, name)) for level, names in COLUMNS.items()}
        for group in GROUPS
    }
    return _compared(
        {"all features": [(real, COLUMNS)], **{f"without {group}": [(real, columns)] for group, columns in left.items()}},
        real,
        evaluated,
        rank,
    )


def _in(group: str, column: str) -> bool:
    name = column.removeprefix("file_")
    return any(name == start or (start.endswith(("_", "e", "r")) and name.startswith(start)) for start in GROUPS[group])


def _compared(
    learned: Mapping[str, Sequence[tuple[Tables, Mapping[str, Sequence[str]]]]],
    real: Tables,
    evaluated: Sequence[Instance],
    rank: Rank,
) -> list[dict[str, Any]]:
    """Figures of each arm, and its difference in F1 from the first; the draws of an arm are its seeds."""
    names = {row.instance_id for row in evaluated}
    tables = {level: table.filter(pl.col("instance_id").is_in(names)) for level, table in real.items()}
    found: dict[str, dict[int, list[Score]]] = {}
    for arm, draws in learned.items():
        for seed, (given, columns) in enumerate(draws):
            scores = leave_one_out(tables, given, rank, seed, columns)
            scores["function"] = with_files(tables, scores, 0.5)
            found.setdefault(arm, {})[seed] = list(answers(evaluated, tables, scores).values())
    sets = {arm: {seed: one_file(scores, READING) for seed, scores in runs.items()} for arm, runs in found.items()}
    first = next(iter(found))
    against = compare(
        {arm: {0: runs[0]} for arm, runs in sets.items()}, [(arm, first) for arm in found if arm != first], {"f1": F1}
    )
    by_arm = {row.first: row.model_dump(mode="json") for row in against}
    return [
        {"arm": arm, "trained on": f"{len(set(learned[arm][0][0]['file']['instance_id'])):,} issues"}
        | {key: interval(measure(runs, statistic)) for key, statistic in RANKED.items()}
        | {"f1": interval(measure(sets[arm], F1)), "difference": by_arm.get(arm)}
        for arm, runs in found.items()
    ]


def _of_set(rows: Sequence[Instance], systems: Mapping[str, System]) -> dict[str, Any]:
    wanted = [row.instance_id for row in rows]
    here = {
        name: System(name, {key: system.scores[key] for key in wanted}, system.seconds, system.confidence)
        for name, system in systems.items()
    }
    rows_of_table = table(here)
    readings = best_readings(rows_of_table) | {RANKER: READING}
    return {
        "table": rows_of_table,
        "readings": readings,
        "differences": [row.model_dump(mode="json") for row in differences(here, RANKER, readings, CONFIDENCE)],
        "repositories": by_repository(here, SHOWN),
        "calibration": confidence_of(here[RANKER]),
    }
