"""From a record to its run in MLflow. Doing it again changes nothing: runs, points and versions are found by key."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fusesearch.core.digests import digest
from fusesearch.core.errors import FusesearchError
from fusesearch.core.schema import Score, Trajectory
from fusesearch.core.storage import read_csv, read_jsonl
from fusesearch.evaluation.metrics import aggregate
from fusesearch.evaluation.results import SCORES, TRAJECTORIES
from fusesearch.reporting.inputs import by_arm
from tasks.checkpoints import times_of
from tasks.running.record import RunRecord, find_record, is_unchanged, records
from tasks.stages import TRAINED
from tasks.tracking.datasets import dataset_input, log_held_out, logged_model, register
from tasks.tracking.store import locked_client, tracking_uri
from tasks.tracking.traces import log_traces

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

EXPERIMENT = "fusesearch"
"""MLflow's experiment for reproductions; ``fusesearch/nodes`` has nodes, ``fusesearch/<name>`` an experiment's arms."""
KEY = "fusesearch.key"
LIVE = "fusesearch.live"
RECORDED = "fusesearch.recorded"
"""Tags of a run: the key of its record, its key while it has no outputs yet, the digest of the record that completed it."""
EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development"}
"""Makes MLflow's pages open an experiment with its runs and charts, not with traces of language models."""
VALIDATION = "validation"
"""Stem of the files of held-out issues."""
PARAM_CHARS = 6000
KEPT_SUFFIXES = {".json", ".csv", ".md", ".html", ".png", ".svg"}
KEPT_BYTES = 20 * 1024**2
"""Tables and pages up to this size are kept with the run."""
logger = logging.getLogger(__name__)


def track(record: RunRecord) -> str:
    """Make or complete the run of a record, and those of earlier stages of its reproduction that are not recorded yet.

    Never raises: if MLflow is away, it logs one warning.

    Returns:
        the run's id, or "" if the run is not recorded yet.
    """
    uri = tracking_uri()
    try:
        with locked_client(uri) as client:
            projection = Projection(client)
            for earlier in records() if record.kind == "stage" and record.parent else ():
                if earlier.parent == record.parent and earlier.key != record.key:
                    projection.track(earlier)
            return projection.track(record)
    except (FusesearchError, ModuleNotFoundError) as error:  # the extra with MLflow may not be installed
        logger.warning("%s: %s is not recorded yet; `python -m flows track` does it later", error, record.name)
        return ""


class Projection:
    """Makes the runs of records in one store. Its methods raise what MLflow raises.

    Args:
        client: MLflow's client of the store.
    """

    def __init__(self, client: MlflowClient) -> None:
        self.client = client
        self._experiments: dict[str, str] = {}

    def track(self, record: RunRecord) -> str:
        """Make or complete the run of a record, and return its id. A deleted run stays deleted.

        Files come last: one that the store rejects, perhaps for its size, keeps no figure from it.
        """
        from mlflow.entities import RunTag

        run = self.open(record)
        run_id = str(run.info.run_id)
        if _is_complete(run, record):
            return run_id
        parent = run.data.tags.get("mlflow.parentRunId", "")
        end = record.started + record.seconds
        times = {"stage_seconds": record.seconds, "stage_cpu_seconds": record.cpu_seconds}
        self._params(run, record.params)
        self._metrics(run, record.metrics | (times if record.kind in ("stage", "node") else {}), end)
        inputs = [dataset_input(Path(path), digest, record.stage) for path, digest in record.inputs.items()]
        self.client.log_inputs(run_id, datasets=inputs)
        for name, of in record.inputs.items():
            if record.stage == "evaluate" and Path(name).stem == VALIDATION and is_unchanged(Path(name), of):
                log_held_out(self.client, run.info.experiment_id, Path(name), of)
        self.client.log_batch(run_id, tags=[RunTag(key, value) for key, value in {KEY: record.key, **tags_of(record)}.items()])
        if record.stage == "report" and parent:  # reproductions are compared by their parents, which have all params
            self._metrics(self.client.get_run(parent), record.metrics, end)
        outputs = [Path(path) for path, digest in record.outputs.items() if is_unchanged(Path(path), digest)]
        model = self.model(run, record)
        for path in outputs:
            if path.name == "curve.csv":
                prefix = f"{path.parent.name.partition('-')[0]}/" if record.kind == "arm" else ""
                for file in filter(Path.is_file, (path, times_of(path))):
                    rows = curve_points(file, prefix)
                    last = max((step for _, step, _ in rows), default=1) or 1
                    self.points(run, [(*row, record.started + record.seconds * row[1] / last) for row in rows], model)
            elif path.name == SCORES:
                self._evaluated(run, record, path)
        if record.current is not None:
            self._mark_current(run, record.current)
        for finished in filter(None, (run_id, parent)):
            self._finish(finished, end)
        for path in outputs:
            if path.name == "checkpoint":
                tags = {"stage": record.stage, "seed": str(record.seed), "path": path.as_posix()}
                tags["digest"] = record.outputs[path.as_posix()]
                self.client.set_logged_model_tags(model, tags)
                self.client.finalize_logged_model(model, "READY")
                if record.kind == "stage":
                    register(self.client, run_id, f"fusesearch-{record.profile}", path, tags, record.stage, model)
            elif is_kept(path):
                if path.is_dir():
                    self.client.log_artifacts(run_id, str(path), path.name)
                else:
                    self.client.log_artifact(run_id, str(path))
        self.client.set_tag(run_id, RECORDED, _content_digest(record))
        return run_id

    def is_recorded(self, record: RunRecord) -> bool:
        """Whether the store has everything of a record, or somebody deleted its run."""
        run = self._find(self.experiment(record), KEY, record.key)
        return run is not None and _is_complete(run, record)

    def open(self, record: RunRecord) -> Run:
        """The run of a record: its live run, the run with its key, or a new run below its parent."""
        experiment = self.experiment(record)
        found = self.find_live(record) or self._find(experiment, KEY, record.key)
        return found or self.create(record, {KEY: record.key})

    def find_live(self, record: RunRecord) -> Run | None:
        """The run that :class:`~tasks.tracking.live.Live` made for an unfinished stage."""
        run = self._find(self.experiment(record), LIVE, record.live_key) if record.kind in ("stage", "node") else None
        return run if run and KEY not in run.data.tags and run.info.lifecycle_stage == "active" else None

    def create(self, record: RunRecord, tags: Mapping[str, str]) -> Run:
        """A new run below the record's parent. Makes the parent if it does not exist."""
        parent_record = find_record(record.parent) if record.parent else None
        parent = self.open(parent_record).info.run_id if parent_record else ""
        run = self._create(self.experiment(record), run_name(record), {**tags_of(record), **tags}, parent, record.started)
        if record.kind == "reproduction":
            self._params(run, record.params)
        return run

    def experiment(self, record: RunRecord) -> str:
        """The id of the record's experiment in MLflow. Makes the experiment if it does not exist."""
        part = "nodes" if record.kind == "node" else record.experiment
        name = f"{EXPERIMENT}/{part}" if part else EXPERIMENT
        if name not in self._experiments:
            found = self.client.get_experiment_by_name(name)
            made = found.experiment_id if found else self.client.create_experiment(name, tags=EXPERIMENT_TAGS)
            self._experiments[name] = str(made)
        return self._experiments[name]

    def model(self, run: Run, record: RunRecord) -> str:
        """The id of the model that the run trains; empty if it trains none."""
        trains = record.stage in TRAINED and record.kind in ("stage", "node")
        return logged_model(self.client, run, f"{record.profile}-{record.name}-seed-{record.seed}") if trains else ""

    def _find(self, experiment: str, tag: str, value: str) -> Run | None:
        from mlflow.entities import ViewType

        found = self.client.search_runs([experiment], f"tags.`{tag}` = '{value}'", run_view_type=ViewType.ALL, max_results=1)
        return found[0] if found else None

    def _create(self, experiment: str, name: str, tags: Mapping[str, str], parent: str, started: float) -> Run:
        all_tags = {**tags, **({"mlflow.parentRunId": parent} if parent else {})}
        return self.client.create_run(experiment, start_time=int(started * 1000), run_name=name, tags=all_tags)

    def _finish(self, run_id: str, end: float) -> None:
        self.client.set_terminated(run_id, status="FINISHED", end_time=int(end * 1000))

    def _params(self, run: Run, values: Mapping[str, Any]) -> None:
        """Log params that the run does not have: MLflow does not allow a change."""
        from mlflow.entities import Param

        known = run.data.params
        named = {_accepted(key): str(value)[:PARAM_CHARS] for key, value in values.items()}
        rows = [Param(key, value) for key, value in named.items() if key not in known]
        for start in range(0, len(rows), 100):
            self.client.log_batch(run.info.run_id, params=rows[start : start + 100])

    def _metrics(self, run: Run, metrics: Mapping[str, Any], at: float, **measured: str) -> None:
        """Log the numbers among the metrics that the run lacks or has with another value, for the model that they measure."""
        from mlflow.entities import Metric

        known = run.data.metrics
        values = {_accepted(key): float(value) for key, value in metrics.items() if type(value) in (int, float)}
        rows = [Metric(key, value, int(at * 1000), 0, **measured) for key, value in values.items() if known.get(key) != value]
        self.client.log_batch(run.info.run_id, metrics=rows)

    def points(self, run: Run, rows: Sequence[tuple[str, int, float, float]], model: str) -> None:
        """Log the points (name, step, value, time in seconds) that ``run`` lacked when it was opened."""
        from mlflow.entities import Metric

        run_id = run.info.run_id
        names = {row[0] for row in rows} & set(run.data.metrics)
        known = {(name, point.step) for name in names for point in self.client.get_metric_history(run_id, name)}
        missing = [
            Metric(name, value, int(at * 1000), step, model_id=model or None)
            for name, step, value, at in rows
            if (name, step) not in known
        ]
        for start in range(0, len(missing), 500):
            self.client.log_batch(run_id, metrics=missing[start : start + 500])

    def _evaluated(self, run: Run, record: RunRecord, path: Path) -> None:
        """Record every arm of a file of scores: an experiment's arm on the run itself, others on a child run each."""
        scores, end = list(read_jsonl(path, Score)), record.started + record.seconds
        if evaluated := record.tags.get("evaluated"):
            self._metrics(run, aggregate(row for row in scores if row.arm == evaluated), end)
            self._traces(run, record, path.parent / "cells" / evaluated)
            return
        parent = run.data.tags.get("mlflow.parentRunId") or run.info.run_id
        for arm, rows in by_arm(scores).items():
            key = digest(record.key, arm)[:32]
            child = self._find(run.info.experiment_id, KEY, key)
            if child is None:
                tags = {**tags_of(record), "arm": arm, KEY: key}
                child = self._create(run.info.experiment_id, f"{record.stage}/{arm}", tags, parent, record.started)
            self._metrics(child, aggregate(rows), end, **self._measured(record, arm))
            if record.kind == "stage":  # a node's episodes are traces of the arms that use it
                self._traces(child, record, path.parent / "cells" / arm)
            self._finish(child.info.run_id, end)

    def _traces(self, run: Run, record: RunRecord, folder: Path) -> None:
        """The episodes of a cell below its run, if they are there."""
        files = folder / TRAJECTORIES, folder / SCORES
        if all(file.is_file() for file in files):
            episodes = zip(read_jsonl(files[0], Trajectory), read_jsonl(files[1], Score), strict=True)
            tags = {key: value for key, value in tags_of(record).items() if key in ("profile", "seed", "label")}
            log_traces(self.client.tracking_uri, run, episodes, record.started, tags)

    def _measured(self, record: RunRecord, arm: str) -> dict[str, str]:
        """The model that an arm evaluates and the dataset, as its metrics name them; empty where no run made the model."""
        name = record.params.get("evaluate.cells", {}).get(arm, {}).get("checkpoint", "")
        made = [of for path, of in record.inputs.items() if re.search(rf"/{name}(-\w+)?/checkpoint$", path)]
        data = [(path, of) for path, of in record.inputs.items() if Path(path).stem == VALIDATION]
        experiments = [row.experiment_id for row in self.client.search_experiments(filter_string=f"name LIKE '{EXPERIMENT}%'")]
        found = self.client.search_logged_models(experiments, f"tags.digest = '{made[0]}'") if made and data else []
        return {"model_id": found[0].model_id, "dataset_name": data[0][0], "dataset_digest": data[0][1]} if found else {}

    def _mark_current(self, run: Run, keys: Sequence[str]) -> None:
        """Tag the runs below an experiment: ``current`` is true for the given keys and false for all others."""
        children = f"tags.`mlflow.parentRunId` = '{run.info.run_id}'"
        for child in self.client.search_runs([run.info.experiment_id], children, max_results=10_000):
            current = str(child.data.tags.get(KEY) in keys).lower()
            if child.data.tags.get("current") != current:
                self.client.set_tag(child.info.run_id, "current", current)


def curve_points(path: Path, prefix: str = "") -> list[tuple[str, int, float]]:
    """The points of a training curve (name, step, value). Cells without a number are left out."""
    rows = [row for row in read_csv(path) if row["step"]]
    return [(prefix + name, int(float(row["step"])), value) for row in rows for name, value in row_points(row)]


def row_points(row: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The numbers in a row of a training log, under names that MLflow accepts."""
    for name, cell in row.items():
        if name not in ("step", "steps", "epoch"):
            try:
                yield _accepted(name), float(cell)
            except (TypeError, ValueError):
                continue


def _accepted(name: str) -> str:
    """A name that MLflow accepts for a param or metric: ``sft_rl`` for ``sft+rl``, ``recall_at_5`` for ``recall@5``."""
    return re.sub(r"[^\w\-. :/]", "_", name.replace("@", "_at_"))


def tags_of(record: RunRecord) -> dict[str, str]:
    """The tags that MLflow's search filters and groups by."""
    tags = {
        "git.revision": record.git_revision, "git.dirty": str(record.dirty).lower(), "dvc.revision": record.dvc_revision,
        "profile": record.profile, "seed": "" if record.seed is None else str(record.seed), "stage": record.stage,
        "node": record.node, "experiment": record.experiment, "arm": record.arm, "kind": record.kind,
        "mlflow.note.content": record.description,
    }  # fmt: skip
    return {key: value for key, value in (tags | record.tags).items() if value}


def run_name(record: RunRecord) -> str:
    """The name of its run, which says what is trained on what: ``grpo: sft on rl``, of an arm ``nano sft: F1 and e seed 0``."""
    if record.kind == "arm":
        return f"{record.profile} {record.stage}: {record.name}"
    if record.stage not in TRAINED or record.kind not in ("stage", "node"):
        return record.name
    names: dict[bool, list[str]] = {True: [], False: []}
    for path in map(Path, record.inputs):
        if path.name != "repos":
            names[path.suffix == ""].append(path.parent.name if path.name == "checkpoint" else path.stem)
    return f"{record.name}: {' and '.join(names[True])} on {' and '.join(names[False])}"


def is_kept(path: Path) -> bool:
    """Whether to keep an output with the run: small tables and pages. Curves and metrics are already in the run as numbers."""
    files = [child for child in path.rglob("*") if child.is_file()] if path.is_dir() else [path]
    kinds = {child.suffix for child in files}
    known = path.name in ("curve.csv", "metrics.json", "checkpoint") or not kinds or not kinds <= KEPT_SUFFIXES
    return not known and sum(child.stat().st_size for child in files) <= KEPT_BYTES


def _is_complete(run: Run, record: RunRecord) -> bool:
    return run.info.lifecycle_stage == "deleted" or run.data.tags.get(RECORDED) == _content_digest(record)


def _content_digest(record: RunRecord) -> str:
    """Digest of the fields that a run shows."""
    return digest(record.model_dump(mode="json", exclude={"started", "git_revision", "dirty", "dvc_revision"}))[:32]
