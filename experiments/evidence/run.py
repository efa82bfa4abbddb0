"""The figures of systems by set."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from experiments.evidence.cases import in_order, language, read_cases
from experiments.evidence.measures import RANKED, READING, best_readings, by_group, confidence_of, differences, table
from experiments.evidence.systems import System, free, scored
from experiments.evidence.trainer import Floats, collect, ranked, with_files
from fusesearch.code.spans import FunctionSpan
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Answer, Instance, Score
from fusesearch.evaluation.statistics import estimate
from fusesearch.localizers.ranker.answer import Ranked, Ranking, by_probability
from fusesearch.localizers.ranker.columns import Candidate
from fusesearch.localizers.ranker.trees import COLUMNS, GROUPS, Model, group_of, log_odds, read_models
from fusesearch.search.snapshots import SnapshotStore, instance_snapshot

Tables = dict[str, pl.DataFrame]
"""Features of files and of functions."""
RANKER, OWN = "ranker", "ranker, its own answer"
ALONE = {"its sum set by hand": "prior", "its BM25 alone": "all"}
"""Single columns of the ranker as systems."""
SHOWN = (RANKER, "bm25", "lexical")
"""Systems of the table by repository."""
UNCALIBRATED = {level: Model([], dict.fromkeys(GROUPS, (0.0, 1.0, 0.0)), 0.0) for level in COLUMNS}


def systems_of(rows: Sequence[Instance], rankings: Mapping[str, Ranking]) -> dict[str, System]:
    """The rankings as lists, and the answers that the localizer makes of them; empty for an issue without a ranking."""
    listed: dict[str, Score] = {}
    own: dict[str, Score] = {}
    confidence: dict[str, float] = {}
    for row in rows:
        found = rankings.get(row.instance_id, Ranking([], []))
        listed[row.instance_id] = answered(row, found.listed())
        own[row.instance_id] = answered(row, found.best())
        confidence[row.instance_id] = found.files[0].probability if found.files else 0.0
    return {RANKER: System(RANKER, listed, confidence=confidence), OWN: System(OWN, own)}


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
            group = group_of(order[0][0].partition("::")[0])
            found[level][name] = [
                Ranked(_candidate(entity), models[level].probability(group, odd, score))
                for (entity, score), odd in zip(order, odds, strict=True)
            ]
    functions = {name: found["function"].get(name, []) for name in found["file"]}
    return {name: Ranking(by_probability(files, functions[name]), functions[name]) for name, files in found["file"].items()}


def _candidate(entity: str) -> Candidate:
    path, _, name = entity.partition("::")
    return Candidate(path, FunctionSpan(1, 1, name) if name else None)


def answered(row: Instance, answer: Answer) -> Score:
    """The score of an answer."""
    return scored(row, answer.files, answer.functions)


def of_set(rows: Sequence[Instance], systems: Mapping[str, System]) -> dict[str, Any]:
    """The figures of one set: systems, differences from the ranker, by repository and language, and its confidence."""
    here = {name: system.only(row.instance_id for row in rows) for name, system in systems.items()}
    names = [name for name in SHOWN if name in here]
    rows_of_table = table(here)
    readings = best_readings(rows_of_table) | {RANKER: READING, OWN: "all"}
    return {
        "table": rows_of_table,
        "readings": readings,
        "differences": [row.model_dump(mode="json") for row in differences(here, RANKER, readings)],
        "repositories": by_group(here, names, "repository", {row.instance_id: row.repo for row in rows}),
        "languages": by_group(here, names, "language", {row.instance_id: language(row) for row in rows}),
        "calibration": confidence_of(here[RANKER]),
    }


def evidence(files: Sequence[Path], repos: Path, model: Path, others: Sequence[str], out: Path) -> dict[str, Any]:
    """Figures by file, and the scores of every instance; ``others`` are localizers that ask no model.

    Nothing is trained here. Raises :class:`DataError` if ``model`` says that it learned from one of the repositories.
    """
    cases = read_cases({path.stem: path for path in files}, repos, out / "unseen")
    rows = [*in_order(cases.rows.values())]
    models = dict(zip(COLUMNS, read_models(model)[:2], strict=True))
    provenance = json.loads(model.read_text(encoding="utf-8"))["provenance"]
    learned = {*provenance.get("repositories", ()), *provenance.get("calibration", {}).get("repositories", ())}
    if known := {row.repo for row in rows} & learned:
        raise DataError(f"{model} was trained on {', '.join(sorted(known))}: its score there says nothing")
    snapshots = partial(instance_snapshot, SnapshotStore(out / "snapshots"), repos)
    tables = collect(rows, snapshots, out / "unseen/features")
    systems = systems_of(rows, rankings_by(models, tables))
    systems |= {name: by_column(tables, rows, name, column) for name, column in ALONE.items()}
    systems |= {name: free(name, rows, snapshots, out / "unseen") for name in others}
    return {
        "model": {key: value for key, value in provenance.items() if key != "commits"},
        "sets": {name: of_set(cases.of(name), systems) for name in cases.sets},
        "instances": [
            {"instance_id": row.instance_id, "base_commit": row.base_commit, "language": language(row)}
            | {
                name: {metric: estimate([system.scores[row.instance_id]], statistic) for metric, statistic in RANKED.items()}
                for name, system in systems.items()
            }
            for row in rows
        ],
        "left_out": cases.left_out,
    }


def rankings_by(models: Mapping[str, Model], tables: Tables) -> dict[str, Ranking]:
    """The rankings that the localizer makes with the models of a file."""
    scores: dict[str, Floats] = {}
    for level, rows in tables.items():
        # a model's file may name columns that are gone; its trees use none of them
        columns = [pl.col(name) if name in rows.columns else pl.lit(0.0).alias(name) for name in models[level].columns]
        scores[level] = np.array([models[level].score(row) for row in rows.select(columns).to_numpy().tolist()])
    scores["function"] = with_files(tables, scores, models["function"].file_share)
    return rankings_of(tables, scores, models)
