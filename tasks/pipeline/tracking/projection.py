"""From a record to its run in MLflow. Made again, nothing changes: runs, points, versions and traces are found by their keys."""

from __future__ import annotations

import csv
import logging
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.core.digests import digest
from tasks.core.errors import FusesearchError
from tasks.core.schema import Score
from tasks.core.storage import read_jsonl
from tasks.evaluation.metrics import aggregate
from tasks.evaluation.results import SCORES, TRAJECTORIES
from tasks.pipeline.record import RunRecord, find_record, is_unchanged
from tasks.pipeline.tracking.datasets import dataset_input
from tasks.pipeline.tracking.episodes import episodes_of, keep_pages, keep_scores, spread
from tasks.pipeline.tracking.registry import model_name, register
from tasks.pipeline.tracking.store import locked_client, tracking_uri
from tasks.pipeline.tracking.traces import trace_id, trace_of
from tasks.reporting.inputs import by_arm

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

EXPERIMENT = "fusesearch"
"""MLflow's experiment for reproductions and grids; ``fusesearch/nodes`` has nodes, ``fusesearch/<name>`` an experiment's arms."""
KEY = "fusesearch.key"
LIVE = "fusesearch.live"
RECORDED = "fusesearch.recorded"
"""Tags of a run: the record it is of; the same while its outputs do not exist yet; digest of the record it was completed with."""
EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development"}
"""So that MLflow's pages open an experiment with its runs and charts, and not with the traces of language models."""
TRACES = 10
"""Episodes of an evaluated arm that are kept as traces."""
PARAM_CHARS = 6000
KEPT_SUFFIXES = {".json", ".csv", ".md", ".html", ".png", ".svg"}
KEPT_BYTES = 20 * 1024**2
"""Outputs up to this size that are tables and pages are kept with the run."""
TRIES = 3
_CONFLICT = re.compile("IntegrityError|UniqueViolation|Duplicate entry")
"""What SQLite, PostgreSQL and MySQL say if another process inserted the same row since MLflow looked for it."""
Point = tuple[str, int, float]
"""Name, step, value."""
logger = logging.getLogger(__name__)


def track(record: RunRecord, traces: int = TRACES) -> str:
    """Make or complete the run of a record. Never raises: if MLflow is away, that is one warning.

    Args:
        record: what finished.
        traces: episodes of each evaluated arm that are kept as traces.

    Returns:
        the run's id; "" if it is not recorded yet.
    """
    uri = tracking_uri()
    try:
        with locked_client(uri) as client:
            return Projection(client, traces).track(record)
    except (FusesearchError, ModuleNotFoundError) as error:  # the extra that has MLflow is not installed
        logger.warning("%s: %s is not recorded yet; `fusesearch track` does it later", error, record.name)
        return ""


class Projection:
    """Makes the runs of records in one store. Its methods raise what MLflow raises."""

    def __init__(self, client: MlflowClient, traces: int = TRACES, again: bool = False) -> None:
        """``again``: go through runs that have all of their record too."""
        self.client = client
        self.traces = traces
        self.again = again
        self._experiments: dict[str, str] = {}

    def track(self, record: RunRecord) -> str:
        """Make or complete the run of a record, and return its id. A run that was deleted stays deleted."""
        run = self.open(record)
        run_id = str(run.info.run_id)
        if self._has_all(run, record):
            return run_id
        parent = run.data.tags.get("mlflow.parentRunId", "")
        end = record.started + record.seconds
        took = {"stage_seconds": record.seconds} if record.kind in ("stage", "node") else {}
        self._params(run, record.params)
        self._metrics(run, {**record.metrics, **took}, end)
        self._inputs(run, record)
        self._tags(run, {KEY: record.key, **tags_of(record)})
        if record.stage == "report" and parent:  # beside all params, where reproductions are compared
            self._metrics(self.client.get_run(parent), record.metrics, end)
        made = [Path(path) for path, was in record.outputs.items() if is_unchanged(Path(path), was)]
        for path in made:
            if path.name == "curve.csv":
                source = f"{path.parent.name.partition('-')[0]}/" if record.kind == "arm" else ""
                self._points(run, curve_points(path, source), record)
        files: list[Callable[[], None]] = [partial(self.keep, run_id, path) for path in made if is_kept(path)]
        files += [partial(self._register, run_id, record, path) for path in made if path.name == "checkpoint"]
        for path in made:
            if path.name == SCORES:
                files += self._evaluated(run, record, path)
        if record.current is not None:
            self._mark_current(run, record.current)
        self._finish(run_id, end)
        if parent:
            self._finish(parent, end)
        _all(files)
        self.client.set_tag(run_id, RECORDED, _mark(record))
        return run_id

    def is_recorded(self, record: RunRecord) -> bool:
        """Whether the store has all of a record, or somebody deleted its run."""
        run = self._find(self.experiment(record), KEY, record.key)
        return run is not None and self._has_all(run, record)

    def open(self, record: RunRecord) -> Run:
        """The run of a record: the one that was live, or the one found by its key, or a new one below its parent."""
        experiment = self.experiment(record)
        found = self.find_live(record) or self._find(experiment, KEY, record.key)
        return found or self.create(record, {KEY: record.key})

    def find_live(self, record: RunRecord) -> Run | None:
        """The run that :class:`~tasks.pipeline.tracking.live.Live` made of a stage that had not finished."""
        run = self._find(self.experiment(record), LIVE, record.live_key) if record.kind in ("stage", "node") else None
        return run if run and KEY not in run.data.tags and run.info.lifecycle_stage == "active" else None

    def create(self, record: RunRecord, tags: Mapping[str, str]) -> Run:
        """A new run below the record's parent, which is made if it does not exist."""
        above = find_record(record.parent) if record.parent else None
        parent = self.open(above).info.run_id if above else ""
        run = self._create(self.experiment(record), record.name, {**tags_of(record), **tags}, parent, record.started)
        if record.kind == "reproduction":
            self._params(run, record.params)
        return run

    def keep(self, run_id: str, path: Path) -> None:
        """Keep a file or folder with a run."""
        if path.is_dir():
            self.client.log_artifacts(run_id, str(path), path.name)
        else:
            self.client.log_artifact(run_id, str(path))

    def experiment(self, record: RunRecord) -> str:
        """The id of MLflow's experiment that has the record's run; made if it does not exist."""
        name = experiment_of(record)
        if name not in self._experiments:
            found = self.client.get_experiment_by_name(name)
            if found and found.lifecycle_stage == "deleted":
                logger.warning("MLflow's experiment %s was deleted: it is restored, with its runs", name)
                self.client.restore_experiment(found.experiment_id)
            made = found.experiment_id if found else self.client.create_experiment(name, tags=EXPERIMENT_TAGS)
            self._experiments[name] = str(made)
        return self._experiments[name]

    def _has_all(self, run: Run, record: RunRecord) -> bool:
        return run.info.lifecycle_stage == "deleted" or (not self.again and run.data.tags.get(RECORDED) == _mark(record))

    def _find(self, experiment: str, tag: str, value: str) -> Run | None:
        from mlflow.entities import ViewType

        found = self.client.search_runs([experiment], f"tags.`{tag}` = '{value}'", run_view_type=ViewType.ALL, max_results=1)
        return found[0] if found else None

    def _create(self, experiment: str, name: str, tags: Mapping[str, str], parent: str, started: float) -> Run:
        above = {"mlflow.parentRunId": parent} if parent else {}
        return self.client.create_run(experiment, start_time=int(started * 1000), run_name=name, tags={**tags, **above})

    def _finish(self, run_id: str, end: float) -> None:
        self.client.set_terminated(run_id, status="FINISHED", end_time=int(end * 1000))

    def _params(self, run: Run, values: Mapping[str, Any]) -> None:
        """A value that is there is not changed, because MLflow refuses it."""
        from mlflow.entities import Param

        known = run.data.params
        rows = [Param(key, str(value)[:PARAM_CHARS]) for key, value in values.items() if key not in known]
        for start in range(0, len(rows), 100):
            self.client.log_batch(run.info.run_id, params=rows[start : start + 100])

    def _tags(self, run: Run, tags: Mapping[str, str]) -> None:
        from mlflow.entities import RunTag

        self.client.log_batch(run.info.run_id, tags=[RunTag(key, value) for key, value in tags.items()])

    def _metrics(self, run: Run, metrics: Mapping[str, Any], at: float) -> None:
        """Log the numbers among the metrics that the run does not have, or has otherwise."""
        from mlflow.entities import Metric

        known = run.data.metrics
        values = {key.replace("@", "_at_"): float(value) for key, value in metrics.items() if type(value) in (int, float)}
        rows = [Metric(key, value, int(at * 1000), 0) for key, value in values.items() if not _same(known.get(key), value)]
        self.client.log_batch(run.info.run_id, metrics=rows)

    def _points(self, run: Run, points: Iterable[Point], record: RunRecord) -> None:
        """Log the points of a curve that the run does not have; those that were not live are spread over its time."""
        from mlflow.entities import Metric

        rows = list(points)
        run_id = run.info.run_id
        names = {name for name, _, _ in rows} & set(run.data.metrics)
        known = {(name, point.step) for name in names for point in self.client.get_metric_history(run_id, name)}
        last = max((step for _, step, _ in rows), default=1) or 1
        fresh = [
            Metric(name, value, int((record.started + record.seconds * step / last) * 1000), step)
            for name, step, value in rows
            if (name, step) not in known
        ]
        for start in range(0, len(fresh), 500):
            self.client.log_batch(run_id, metrics=fresh[start : start + 500])

    def _inputs(self, run: Run, record: RunRecord) -> None:
        from mlflow.exceptions import MlflowException

        datasets = [dataset_input(Path(path), was, record.stage) for path, was in record.inputs.items()]
        for left in reversed(range(TRIES)):
            try:
                self.client.log_inputs(run.info.run_id, datasets=datasets)
                return
            except (
                MlflowException
            ) as error:  # of two runs that name one dataset at once, one fails, and finds it when it tries again
                if not left or not _CONFLICT.search(str(error)):
                    raise

    def _register(self, run_id: str, record: RunRecord, checkpoint: Path) -> None:
        if record.kind == "stage":
            tags = {"stage": record.stage, "seed": str(record.seed), "path": checkpoint.as_posix()}
            tags["digest"] = record.outputs[checkpoint.as_posix()]
            register(self.client, run_id, model_name(record.profile), checkpoint, tags, record.stage)

    def _evaluated(self, run: Run, record: RunRecord, path: Path) -> list[Callable[[], None]]:
        """The figures of every arm, on the run itself or on a child of its own; returns what is left to do with files."""
        scores = list(read_jsonl(path, Score))
        if record.kind in ("arm", "cell"):
            rows = [row for row in scores if row.arm == record.tags.get("evaluated", row.arm)]
            return self._episodes(run, record, rows, _trajectories(path, record.tags.get("evaluated", "")))
        parent = run.data.tags.get("mlflow.parentRunId") or run.info.run_id
        files: list[Callable[[], None]] = []
        for arm, rows in by_arm(scores).items():
            key = digest(record.key, arm)[:32]
            child = self._find(run.info.experiment_id, KEY, key)
            if child is None:
                tags = {**tags_of(record), "arm": arm, KEY: key}
                child = self._create(run.info.experiment_id, f"{record.stage}/{arm}", tags, parent, record.started)
            files += self._episodes(child, record, rows, _trajectories(path, arm))
            self._finish(child.info.run_id, record.started + record.seconds)
        return files

    def _episodes(
        self, run: Run, record: RunRecord, scores: Sequence[Score], trajectories: Path | None
    ) -> list[Callable[[], None]]:
        """The figures of :data:`~tasks.evaluation.metrics.METRICS` of an arm; returns what keeps its rows, pages and traces.

        The episodes of a node are traced with the arm of the experiment that it belongs to.
        """
        self._metrics(run, aggregate(scores), record.started + record.seconds)
        run_id = run.info.run_id
        steps: list[Callable[[], None]] = [lambda: keep_scores(self.client, run_id, scores)]
        if trajectories:
            steps.append(lambda: keep_pages(self.client, run_id, scores, trajectories))
            if record.kind != "node":
                steps.append(lambda: self._traces(run, scores, trajectories, record.started))
        return steps

    def _traces(self, run: Run, scores: Sequence[Score], trajectories: Path, started: float) -> None:
        from mlflow.tracing.client import TracingClient  # MLflow 3.17: the public client cannot log spans that are over

        run_id, experiment = run.info.run_id, run.info.experiment_id
        tracing = TracingClient(self.client.tracking_uri)
        logged = tracing.search_traces(locations=[experiment], run_id=run_id, include_spans=False, max_results=10_000)
        known = {row.info.trace_id for row in logged}
        chosen = [score for score in spread(scores, self.traces) if trace_id(run_id, score) not in known]
        for score, episode in episodes_of(chosen, scores, trajectories) if chosen else ():
            info, spans = trace_of(episode, score, run_id=run_id, experiment=experiment, started=started)
            tracing.log_spans(experiment, spans)
            tracing.start_trace(info)

    def _mark_current(self, run: Run, keys: Sequence[str]) -> None:
        """Of the runs below an experiment those with the given keys are current, and no other is."""
        below = f"tags.`mlflow.parentRunId` = '{run.info.run_id}'"
        for child in self.client.search_runs([run.info.experiment_id], below, max_results=10_000):
            current = str(child.data.tags.get(KEY) in keys).lower()
            if child.data.tags.get("current") != current:
                self.client.set_tag(child.info.run_id, "current", current)


def curve_points(path: Path, prefix: str = "") -> Iterator[Point]:
    """The figures of a training curve at their steps; cells without a number are left out."""
    with path.open(encoding="utf-8", newline="") as handle:
        for row in csv.DictReader(handle):
            for name, value in row_points(row):
                yield prefix + name.replace("@", "_at_"), int(float(row["step"])), value


def row_points(row: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The figures of one row of a training log."""
    for name, cell in row.items():
        if name not in ("step", "steps", "epoch") and cell not in ("", None):
            try:
                yield name, float(cell)
            except (TypeError, ValueError):
                continue


def experiment_of(record: RunRecord) -> str:
    """The name of MLflow's experiment that has the record's run."""
    if record.kind == "node":
        return f"{EXPERIMENT}/nodes"
    return f"{EXPERIMENT}/{record.experiment}" if record.experiment else EXPERIMENT


def tags_of(record: RunRecord) -> dict[str, str]:
    """What MLflow's search filters and groups by."""
    tags = {
        "git.revision": record.git_revision, "git.dirty": str(record.dirty).lower(), "dvc.revision": record.dvc_revision,
        "profile": record.profile, "seed": "" if record.seed is None else str(record.seed), "stage": record.stage,
        "node": record.node, "experiment": record.experiment, "arm": record.arm, "kind": record.kind,
        "mlflow.note.content": record.description,
    }  # fmt: skip
    return {key: value for key, value in (tags | record.tags).items() if value}


def is_kept(path: Path) -> bool:
    """Whether an output is tables and pages, which are kept with the run; curves and metrics are there as figures."""
    files = [child for child in path.rglob("*") if child.is_file()] if path.is_dir() else [path]
    kinds = {child.suffix for child in files}
    known = path.name in ("curve.csv", "metrics.json", "checkpoint") or not kinds or not kinds <= KEPT_SUFFIXES
    return not known and sum(child.stat().st_size for child in files) <= KEPT_BYTES


def _mark(record: RunRecord) -> str:
    """Digest of what of a record its run shows."""
    return digest(record.model_dump(mode="json", exclude={"started", "git_revision", "dirty", "dvc_revision"}))[:32]


def _trajectories(scores: Path, arm: str) -> Path | None:
    """The episodes of an arm: beside its scores, or in its cell there."""
    for path in (scores.parent / TRAJECTORIES, scores.parent / "cells" / arm / TRAJECTORIES):
        if path.is_file():
            return path
    return None


def _all(steps: Iterable[Callable[[], None]]) -> None:
    """Take every step, also after one that failed, and raise the first error: one file may be too large for the store."""
    errors = []
    for step in steps:
        try:
            step()
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]


def _same(known: float | None, value: float) -> bool:
    return known is not None and (known == value or (math.isnan(known) and math.isnan(value)))
