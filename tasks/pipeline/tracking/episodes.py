"""What a run keeps of its episodes: figures, a row per instance, the scores themselves, a few episodes as pages and as traces."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tasks.core.schema import Score, Trajectory, Truth
from tasks.core.storage import read_jsonl, write_jsonl
from tasks.evaluation.results import SCORES

if TYPE_CHECKING:
    from mlflow import MlflowClient

TABLE = "instances.json"
PAGES = 3
"""Episodes a run keeps as pages: of the same instances in every run, so that arms can be read side by side."""

_COLUMNS = (
    "instance_id", "repo", "run", "f1", "file_f1", "function_f1", "efficiency", "efficiency_call", "redundancy_call", "reward",
    "turns", "calls", "calls_per_turn", "failed_calls", "tokens_billed", "seconds", "error",
)  # fmt: skip
_LISTS = ("predicted_files", "true_files", "predicted_functions", "true_functions")


def keep_scores(client: MlflowClient, run_id: str, scores: Sequence[Score]) -> None:
    """Keep the scores, and a table of them that MLflow shows and compares across runs."""
    columns = instance_table(scores)
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    client.log_dict(run_id, {"columns": list(columns), "data": rows}, TABLE)
    client.set_tag(run_id, "mlflow.loggedArtifacts", json.dumps([{"path": TABLE, "type": "table"}]))
    with TemporaryDirectory() as folder:
        write_jsonl(Path(folder) / SCORES, scores)
        client.log_artifact(run_id, str(Path(folder) / SCORES))


def instance_table(scores: Sequence[Score]) -> dict[str, list[Any]]:
    """Columns of the table of a run: one row per episode, in order of instance and run."""
    rows = sorted(scores, key=lambda score: (score.instance_id, score.run))
    columns: dict[str, list[Any]] = {name: [getattr(row, name) for row in rows] for name in _COLUMNS}
    return columns | {name: ["\n".join(getattr(row, name)) for row in rows] for name in _LISTS}


def keep_pages(client: MlflowClient, run_id: str, scores: Sequence[Score], trajectories: Path) -> None:
    """Keep a few episodes as pages of HTML, with what of the truth they found."""
    from tasks.reporting.episodes.page import page_of
    from tasks.reporting.episodes.rendering import render

    first = {score.instance_id: score for score in reversed(scores)}
    names = sorted(first, key=lambda name: hashlib.sha256(name.encode()).digest())[:PAGES]
    for score, episode in episodes_of([first[name] for name in names], scores, trajectories):
        truth = Truth(files=score.true_files, functions=score.true_functions)
        name = re.sub(r"[^\w.-]+", "_", episode.instance_id)[:80]
        page = f"episodes/{names.index(episode.instance_id) + 1}-{name}.html"
        client.log_text(run_id, render(page_of(episode, truth)), page)


def spread(scores: Sequence[Score], most: int) -> list[Score]:
    """At most ``most`` scored episodes, the worst and the best among them and the others evenly between, by F1."""
    ranked = sorted((row for row in scores if row.f1 is not None), key=lambda row: (row.f1, row.instance_id, row.run))
    if len(ranked) <= most:
        return ranked
    if most < 2:
        return ranked[-most:] if most else []
    return [ranked[round(place * (len(ranked) - 1) / (most - 1))] for place in range(most)]


def episodes_of(chosen: Sequence[Score], scores: Sequence[Score], trajectories: Path) -> Iterator[tuple[Score, Trajectory]]:
    """The episodes of the chosen scores, in the order of the file.

    A file of episodes has them run by run for every instance, as ``scores`` does.
    """
    wanted = {(row.instance_id, row.run): row for row in chosen}
    runs: dict[str, list[int]] = {}
    for row in scores:
        runs.setdefault(row.instance_id, []).append(row.run)
    for episode in read_jsonl(trajectories, Trajectory):
        left = runs.get(episode.instance_id)
        score = wanted.get((episode.instance_id, left.pop(0))) if left else None
        if score is not None:
            yield score, episode
