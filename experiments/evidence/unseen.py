"""Repositories that nobody looked at: what a finished model file is worth on their issues, beside localizers without a model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.evidence.cases import in_order, language, read_cases
from experiments.evidence.measures import RANKED
from experiments.evidence.run import ALONE, Tables, by_column, of_set, rankings_of, systems_of
from experiments.evidence.systems import free
from fusesearch.core.errors import DataError
from fusesearch.evaluation.statistics import estimate
from fusesearch.localizers.ranker.answer import Ranking
from fusesearch.localizers.ranker.trees import COLUMNS, Model, read_models
from fusesearch.search.snapshots import SnapshotStore, instance_snapshot
from fusesearch.training.ranking import collect, with_files


def unseen(files: Sequence[Path], repos: Path, model: Path, others: Sequence[str], out: Path) -> dict[str, Any]:
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
    scores = {
        level: np.array([models[level].score(row) for row in table.select(COLUMNS[level]).to_numpy().tolist()])
        for level, table in tables.items()
    }
    scores["function"] = with_files(tables, scores, models["function"].file_share)
    return rankings_of(tables, scores, models)
