"""The same issue in other words: how often the first file stays the same, and how often it is right."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from experiments.evidence.cases import in_order, read_cases
from experiments.evidence.measures import interval
from experiments.evidence.run import RANKER, systems_of
from experiments.evidence.systems import free
from experiments.evidence.unseen import rankings_by
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Record, Score
from fusesearch.core.storage import read_jsonl
from fusesearch.evaluation.statistics import averaged, compare, measure
from fusesearch.localizers.ranker.trees import COLUMNS, read_models
from fusesearch.search.snapshots import SnapshotStore, instance_snapshot
from fusesearch.training.ranking import collect

BEFORE = "lexical"
"""What answered without a model before the ranker did."""
RIGHT = averaged("right", "file", lambda predicted, true: float(bool({*predicted[:1]} & {*true})))
"""The share of the texts whose first file is right."""


class Wordings(Record):
    """Other words for the issue of an instance."""

    instance_id: str
    wordings: list[str]


def wordings(file: Path, verified: Path, repos: Path, model: Path, out: Path) -> dict[str, Any]:
    """First files of the ranker in ``model`` and of :data:`BEFORE`, for each issue as it is and in the words of ``file``.

    Intervals are over issues, not texts. Empty if ``repos`` has no clone of them. Raises :class:`DataError` if ``model``
    learned from one of the issues.
    """
    others = {row.instance_id: row.wordings for row in read_jsonl(file, Wordings)}
    issues = [row for row in in_order(read_cases({"verified": verified}, repos, out).of("verified")) if row.instance_id in others]
    if not issues:
        return {}
    learned = json.loads(model.read_text(encoding="utf-8"))["provenance"].get("commits", ())
    if known := {f"{row.repo}@{row.base_commit[:12]}" for row in issues} & {*learned}:
        raise DataError(f"{model} was trained on {', '.join(sorted(known))}: its score there says nothing")
    texts = {
        row.instance_id: [
            row.model_copy(update={"instance_id": f"{row.instance_id}-{number}", "problem_statement": text})
            for number, text in enumerate([row.problem_statement, *others[row.instance_id]])
        ]
        for row in issues
    }
    rows = [text for wording in texts.values() for text in wording]
    snapshots = partial(instance_snapshot, SnapshotStore(out / "snapshots"), repos)
    models = dict(zip(COLUMNS, read_models(model), strict=True))
    ranker = systems_of(rows, rankings_by(models, collect(rows, snapshots, out / "wordings/features")))[RANKER]
    scores = {
        name: {issue: [system.scores[text.instance_id] for text in wording] for issue, wording in texts.items()}
        for name, system in {RANKER: ranker, BEFORE: free(BEFORE, rows, snapshots, out / "wordings")}.items()
    }
    arms = {
        name: {0: [score.model_copy(update={"instance_id": issue}) for issue, wording in found.items() for score in wording]}
        for name, found in scores.items()
    }
    return {
        "texts": len(rows),
        "issues": len(issues),
        "systems": [
            {"system": name, "right": interval(measure(arms[name], RIGHT)), **_counts(list(found.values()))}
            for name, found in scores.items()
        ],
        "difference": compare(arms, [(RANKER, BEFORE)], {"right": RIGHT})[0].model_dump(mode="json"),
        "first files": {
            row.instance_id: {"true": row.truth.files if row.truth else []}
            | {name: ["".join(score.predicted_files[:1]) for score in found[row.instance_id]] for name, found in scores.items()}
            for row in issues
        },
    }


def _counts(issues: Sequence[Sequence[Score]]) -> dict[str, Any]:
    """``issues`` are the scores of the wordings of each issue, in the same order."""
    right = [[bool({*score.predicted_files[:1]} & {*score.true_files}) for score in wording] for wording in issues]
    return {
        "right by wording": [sum(column) for column in zip(*right, strict=True)],
        "same": sum(len({tuple(score.predicted_files[:1]) for score in wording}) == 1 for wording in issues),
        "all right": sum(map(all, right)),
    }
