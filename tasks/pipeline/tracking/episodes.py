"""What a run keeps of its episodes: figures, a row per instance, the scores themselves, and a few episodes as pages."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tasks.core.schema import Score, Trajectory, Truth
from tasks.core.storage import read_jsonl, write_jsonl
from tasks.evaluation.metrics import aggregate
from tasks.pipeline.tracking.registry import SCORES
from tasks.pipeline.tracking.run import Run
from tasks.reporting.names import summary
from tasks.reporting.tables import by_arm

TABLE = "instances.json"
PAGES = 3
"""Episodes a run keeps as pages: of the same instances in every run, so that arms can be read side by side."""

_COLUMNS = (
    "instance_id", "repo", "run", "f1", "file_f1", "function_f1", "efficiency", "efficiency_call", "redundancy_call", "reward",
    "turns", "calls", "calls_per_turn", "failed_calls", "tokens_billed", "seconds", "error",
)  # fmt: skip
_LISTS = ("predicted_files", "true_files", "predicted_functions", "true_functions")


def log_episodes(run: Run, scores: Sequence[Score], trajectories: Path | None = None) -> None:
    """Log the figures of :data:`METRICS` and a table with a row per episode; keep the scores and a sample of the episodes."""
    run.log(summary(aggregate(scores)))
    run.log_table(instance_table(scores), TABLE)
    with TemporaryDirectory() as folder:
        path = Path(folder) / SCORES
        write_jsonl(path, scores)
        run.log_file(path)
    if trajectories and trajectories.exists():
        log_pages(run, scores, trajectories)


def log_arms(run: Run, scores: Iterable[Score], trajectories: Path) -> dict[str, Run]:
    """A child run for every arm of an evaluation, with its figures and episodes; the children by arm.

    ``trajectories`` is the folder with ``<arm>.jsonl``.
    """
    children = {}
    for arm, rows in by_arm(scores).items():
        with run.arm(arm) as child:
            log_episodes(child, rows, trajectories / f"{arm}.jsonl")
        children[arm] = child
    return children


def instance_table(scores: Sequence[Score]) -> dict[str, list[Any]]:
    """Columns of the table of a run: one row per episode, in order of instance and run."""
    rows = sorted(scores, key=lambda score: (score.instance_id, score.run))
    columns: dict[str, list[Any]] = {name: [getattr(row, name) for row in rows] for name in _COLUMNS}
    return columns | {name: ["\n".join(getattr(row, name)) for row in rows] for name in _LISTS}


def log_pages(run: Run, scores: Sequence[Score], trajectories: Path) -> None:
    """Keep some episodes as pages of HTML, with what of the truth they found."""
    from tasks.reporting.episodes.page import page_of
    from tasks.reporting.episodes.rendering import render

    truths = {score.instance_id: Truth(files=score.true_files, functions=score.true_functions) for score in scores}
    for number, episode in enumerate(sample(trajectories, set(truths)), 1):
        name = re.sub(r"[^\w.-]+", "_", episode.instance_id)[:80]
        run.log_text(render(page_of(episode, truths[episode.instance_id])), f"episodes/{number}-{name}.html")


def sample(trajectories: Path, known: set[str], most: int = PAGES) -> list[Trajectory]:
    """The first episodes of the instances that come first by the digest of their id, which is the same choice everywhere."""
    chosen = list(islice(sorted(known, key=lambda name: hashlib.sha256(name.encode()).digest()), most))
    found: dict[str, Trajectory] = {}
    for episode in read_jsonl(trajectories, Trajectory):
        if episode.instance_id in chosen:
            found.setdefault(episode.instance_id, episode)
    return [found[name] for name in chosen if name in found]
