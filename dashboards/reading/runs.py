"""Training runs in MLflow: which there are, and their curves. Nothing is written, not even a store that is not there yet."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dashboards.reading.curves import Curve
from dashboards.reading.experiments import node_labels
from tasks.core.errors import TrackingUnavailable
from tasks.pipeline.stages import TRAINED
from tasks.pipeline.tracking import EXPERIMENT
from tasks.pipeline.tracking.store import answers, make_client, reachable, shown

if TYPE_CHECKING:
    from mlflow import MlflowClient

MOST_RUNS = 200
MOST_METRICS = 200
"""Figures of a run that are read, each with a request of its own."""

MOST_POINTS = 5000
"""Points of a history that are kept, besides its last; a longer one is thinned."""


@dataclass(frozen=True)
class TrainingRun:
    """A run of a training stage in MLflow."""

    run_id: str
    stage: str
    label: str


def training_runs(root: Path) -> list[TrainingRun]:
    """The newest runs of training stages. Raises :class:`TrackingUnavailable` where there is no store or it does not answer."""
    client = _client(root)
    with reachable(store(root)):
        ids = [row.experiment_id for row in client.search_experiments(filter_string=f"name LIKE '{EXPERIMENT}%'")]
        if not ids:
            return []
        newest = ["attributes.start_time DESC"]
        found = [
            run
            for stage in TRAINED
            for run in client.search_runs(ids, f"tags.stage = '{stage}'", max_results=MOST_RUNS, order_by=newest)
        ]
    labels = node_labels(root)
    return [_described(run, labels) for run in found if "arm" not in run.data.tags]


def run_curve(root: Path, run: TrainingRun) -> Curve:
    """All figures of a run by step; a figure without a history is no curve."""
    client = _client(root)
    steps: dict[int, dict[str, float]] = {}
    with reachable(store(root)):
        names = sorted(name for name in client.get_run(run.run_id).data.metrics if not name.startswith("system/"))
        for name in names[:MOST_METRICS]:
            history = sorted(client.get_metric_history(run.run_id, name), key=lambda point: point.step)
            if len({point.step for point in history}) > 1:
                for point in [*history[:: -(-len(history) // MOST_POINTS)], history[-1]]:
                    steps.setdefault(point.step, {"step": float(point.step)})[name] = point.value
    over = f"{run.label} has {len(names)} figures: only the first {MOST_METRICS} by name are read"
    rows = [steps[step] for step in sorted(steps)]
    return Curve(run.run_id, run.label, run.stage, rows, over if len(names) > MOST_METRICS else "")


def _described(run: Any, labels: Mapping[str, str]) -> TrainingRun:
    tags = run.data.tags
    who = labels.get(tags.get("node", ""), tags.get("node", "")) or tags["stage"]
    when = datetime.fromtimestamp(run.info.start_time / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    about = [who, tags.get("profile", ""), f"seed {tags['seed']}" if "seed" in tags else "", when]
    return TrainingRun(run.info.run_id, tags["stage"], " · ".join(part for part in about if part))


def store(root: Path) -> str:
    """The address of the store: ``MLFLOW_TRACKING_URI``, or the project's own file."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{(root / 'mlflow.db').resolve()}"


def _client(root: Path) -> MlflowClient:
    uri = store(root)
    if uri.startswith("sqlite:///") and not Path(uri.removeprefix("sqlite:///")).is_file():
        raise TrackingUnavailable("mlflow.db is missing: run `dvc repro`, or set MLFLOW_TRACKING_URI")
    if not answers(uri):
        raise TrackingUnavailable(f"MLflow at {shown(uri)} does not answer: start it (this project's own with `make serve`)")
    return make_client(uri)
