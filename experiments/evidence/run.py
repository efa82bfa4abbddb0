"""All figures of the page: systems by set, arms of training, groups of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from experiments.evidence.cases import in_order, language, read_cases
from experiments.evidence.commits import fixes
from experiments.evidence.learned import Tables, both, drawn, leave_out, of_other_owners
from experiments.evidence.measures import (
    F1,
    RANKED,
    best_readings,
    by_group,
    confidence_of,
    differences,
    interval,
    one_file,
    table,
)
from experiments.evidence.systems import System, free, released, scored
from experiments.evidence.together import READING, rules, together
from fusesearch.code.spans import FunctionSpan
from fusesearch.core.config import Rank
from fusesearch.core.schema import Answer, Instance, Score
from fusesearch.core.storage import read_instances
from fusesearch.evaluation.statistics import compare, measure
from fusesearch.localizers.ranker.answer import FUNCTION_SAY, Ranked, Ranking
from fusesearch.localizers.ranker.features import Candidate
from fusesearch.localizers.ranker.trees import COLUMNS, Model, log_odds
from fusesearch.search.snapshots import SnapshotStore, instance_snapshot
from fusesearch.training.ranking import Floats, collect, folds_of, in_turn, ranked, train, with_files

RANKER, OWN = "ranker", "ranker, its own answer"
ALONE = {"its sum set by hand": "prior", "its BM25 alone": "all"}
"""Single columns of the ranker as systems."""
SHOWN = (RANKER, "bm25", "lexical", "CoSIL, 32B", "LocAgent, 32B")
"""Systems of the table by repository."""
PER_HISTORY, SYNTHETIC = 50, 200
"""Most commits of a history, and most synthetic faults, that are learned from."""
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


UNCALIBRATED = {level: Model([], [0.0], [0.0], 0.0) for level in COLUMNS}


@dataclass(frozen=True)
class Given:
    """The files that the page is made from, and ``out``, where everything computed is kept."""

    sets: Mapping[str, Path]
    repos: Path
    cosil: Path
    also: Sequence[Path]
    histories: Sequence[str]
    synthetic: Path | None
    free: Sequence[str]
    only: Sequence[str]
    out: Path


def evidence(given: Given, rank: Rank) -> dict[str, Any]:
    """The figures of the page."""
    cases = read_cases({**given.sets, **{path.stem: path for path in given.also}}, given.repos, given.out)
    store = SnapshotStore(given.out / "snapshots")
    snapshots = partial(instance_snapshot, store, given.repos)
    rows = [row for row in in_order(cases.rows.values()) if not given.only or row.repo in given.only]
    real = collect(rows, snapshots, given.out / "features")
    had = set(real["file"]["instance_id"])
    evaluated = [
        row for row in rows if any(row.instance_id in cases.sets[name] for name in given.sets) and row.instance_id in had
    ]
    ours = ranker(real, evaluated, rank) | {name: by_column(real, evaluated, name, column) for name, column in ALONE.items()}
    ours |= {name: free(name, evaluated, snapshots, given.out) for name in given.free}
    theirs = released(given.cosil, cases, given.repos, given.out)
    sets = {name: [row for row in cases.of(name) if row.instance_id in had] for name in given.sets}
    verified = {row.instance_id for row in sets["verified"]}
    samples = {"lite": [row for row in sets["lite"] if row.instance_id not in verified], "verified": sets["verified"]}
    tried = {
        name: {run: system.only(row.instance_id for row in rows) for run, system in theirs[name].items()}
        for name, rows in samples.items()
    }
    return {
        "sets": {name: of_set(rows, ours | theirs[name]) for name, rows in sets.items()},
        "rules": rules(ours[RANKER], tried),
        "arms": arms(real, evaluated, other_sources(given, store), rank),
        "ablation": ablation(real, evaluated, rank),
        "left_out": cases.left_out,
        "only": sorted(given.only),
        "learned": {"issues": len(had), "repositories": sorted(set(real["file"]["repo"]))},
    }


def ranker(real: Tables, evaluated: Sequence[Instance], rank: Rank) -> dict[str, System]:
    """The ranker's list and its own answer; in parts of the repositories, each by rankers that saw none of its owners."""
    rankings: dict[str, Ranking] = {}
    names = {row.instance_id for row in evaluated}
    tables = {level: rows.filter(pl.col("instance_id").is_in(names)) for level, rows in real.items()}
    folds = {level: folds_of(rows, rank.folds) for level, rows in tables.items()}
    for part in range(rank.folds):
        inside = {level: rows.filter(folds[level] == part) for level, rows in tables.items()}
        repos = set(inside["file"]["repo"])
        rankers = train({level: of_other_owners(rows, repos) for level, rows in real.items()}, rank, 0, {})
        models = {level: Model.of(rankers.document[level], columns) for level, columns in COLUMNS.items()}
        rankings |= rankings_of(inside, rankers.scores(inside), models)
    return systems_of(evaluated, rankings)


def systems_of(rows: Sequence[Instance], rankings: Mapping[str, Ranking]) -> dict[str, System]:
    """The rankings as lists, and the answers that the localizer makes of them; empty for an issue without a ranking."""
    listed: dict[str, Score] = {}
    own: dict[str, Score] = {}
    confidence: dict[str, float] = {}
    probabilities: dict[str, dict[str, float]] = {}
    for row in rows:
        found = rankings.get(row.instance_id, Ranking([], []))
        listed[row.instance_id] = answered(row, found.listed())
        own[row.instance_id] = answered(row, found.best())
        confidence[row.instance_id] = found.files[0].probability if found.files else 0.0
        probabilities[row.instance_id] = {one.candidate.entity: one.probability for one in [*found.files, *found.functions]}
    return {RANKER: System(RANKER, listed, confidence=confidence, probabilities=probabilities), OWN: System(OWN, own)}


def by_column(real: Tables, evaluated: Sequence[Instance], name: str, column: str) -> System:
    """A system that ranks by one column of the features."""
    rankings = rankings_of(real, {level: rows[column].to_numpy().astype(float) for level, rows in real.items()}, UNCALIBRATED)
    return System(name, {row.instance_id: answered(row, rankings[row.instance_id].listed()) for row in evaluated})


def rankings_of(tables: Tables, scores: Mapping[str, Floats], models: Mapping[str, Model]) -> dict[str, Ranking]:
    """The rankings of the localizer by instance, without reasons."""
    found: dict[str, dict[str, list[Ranked]]] = {level: {} for level in tables}
    for level, rows in tables.items():
        for name, order in ranked(rows, scores[level]).items():
            odds = log_odds([score for _, score in order])
            found[level][name] = [
                Ranked(_candidate(entity), models[level].probability(odd)) for (entity, _), odd in zip(order, odds, strict=True)
            ]
    rankings = {}
    for name, files in found["file"].items():
        functions = found["function"].get(name, [])
        best = {one.candidate.path: one.probability for one in reversed(functions)}
        files.sort(key=lambda one: -(one.probability + FUNCTION_SAY * best.get(one.candidate.path, 0.0)))
        rankings[name] = Ranking(files, functions)
    return rankings


def _candidate(entity: str) -> Candidate:
    path, _, name = entity.partition("::")
    return Candidate(path, FunctionSpan(1, 1, name) if name else None)


def answered(row: Instance, answer: Answer) -> Score:
    """The score of an answer."""
    return scored(row, answer.files, answer.functions)


def other_sources(given: Given, store: SnapshotStore) -> dict[str, Tables]:
    """What is learned from besides real issues."""
    found: dict[str, Tables] = {}
    if given.histories:
        rows = [row for repo in given.histories for row in fixes(repo, given.repos, PER_HISTORY)]
        found["commit messages"] = collect(rows, partial(instance_snapshot, store, given.repos), given.out / "commits")
    if given.synthetic:
        rows = in_turn(read_instances(given.synthetic / "data/filtered/instances.parquet"), SYNTHETIC)
        snapshots = partial(instance_snapshot, store, given.synthetic / "data/repos")
        found["synthetic faults"] = collect(rows, snapshots, given.out / "synthetic")
    return found


def arms(real: Tables, evaluated: Sequence[Instance], others: Mapping[str, Tables], rank: Rank) -> list[dict[str, Any]]:
    """What the ranker is worth by what it learned from, in parts of the repositories."""
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
            scores = leave_out(tables, given, rank, seed, columns)
            scores["function"] = with_files(tables, scores, 0.5)
            rankings = rankings_of(tables, scores, UNCALIBRATED)
            found.setdefault(arm, {})[seed] = [answered(row, rankings[row.instance_id].listed()) for row in evaluated]
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


def of_set(rows: Sequence[Instance], systems: Mapping[str, System]) -> dict[str, Any]:
    """The figures of one set: systems, differences from the ranker, by repository and language, and its confidence."""
    here = {name: system.only(row.instance_id for row in rows) for name, system in systems.items()}
    names = [name for name in SHOWN if name in here]
    rows_of_table = table(here)
    readings = best_readings(rows_of_table) | {RANKER: READING, OWN: "all"}
    return {
        "table": rows_of_table,
        "readings": readings,
        "differences": [row.model_dump(mode="json") for row in differences(here, RANKER, readings, CONFIDENCE)],
        "repositories": by_group(here, names, "repository", {row.instance_id: row.repo for row in rows}),
        "languages": by_group(here, names, "language", {row.instance_id: language(row) for row in rows}),
        "calibration": confidence_of(here[RANKER]),
        "together": together(here[RANKER], here[OWN], here),
    }
