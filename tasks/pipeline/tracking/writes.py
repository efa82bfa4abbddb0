"""What can be written to the tracking store. Each write can be made twice without a second effect.

So a write whose answer was lost is simply made again: runs are found by the key their client gave them, points of curves
and figures that a run has are not logged again, files and tables stand under their names.
"""

from __future__ import annotations

import logging
import re
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from tasks.core.errors import DataError, TrackingUnavailable
from tasks.pipeline.tracking.store import ask, make_client, reachable

if TYPE_CHECKING:
    from mlflow import MlflowClient

KEY = "fusesearch.key"
"""Tag of a run: the name its client knows it by before the store has given it an id."""
EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development"}
"""So that MLflow's pages open an experiment with its runs and charts, and not with the traces of language models."""
BATCH = 500
PARAM_CHARS = 6000
MOST_CHILDREN = 10_000
TRIES = 3
logger = logging.getLogger(__name__)
_CONFLICT = re.compile("IntegrityError|UniqueViolation|Duplicate entry")
"""What SQLite, PostgreSQL and MySQL say where a row has come to be meanwhile."""


class Write(BaseModel):
    """One write to one run of ``store`` (:func:`tasks.pipeline.tracking.store.shown`).

    ``run`` is the run's key, ``run_id`` its id where it was known; ``at`` milliseconds since 1970.
    """

    model_config = ConfigDict(ser_json_inf_nan="constants")  # else a loss that is no number would be null in the outbox

    id: str = Field(default_factory=lambda: uuid.uuid4().hex)
    store: str
    run: str
    run_id: str = ""
    kind: str
    at: int = Field(default_factory=lambda: int(time.time() * 1000))
    data: dict[str, Any] = Field(default_factory=dict)


class Writer:
    """Makes writes to one store. Everything it raises is :class:`TrackingUnavailable` or :class:`DataError`."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._client: MlflowClient | None = None
        self._ids: dict[str, str] = {}
        self._points: dict[str, dict[tuple[str, int], float]] = {}
        self._complete: set[str] = set()
        self._kinds: dict[str, Callable[[str, Write], str | None]] = {
            "status": self._status,
            "metrics": self._metrics,
            "params": self._params,
            "tags": self._tags,
            "inputs": self._inputs,
            "file": self._file,
            "text": self._text,
            "table": self._table,
            "close": self._close,
            "close_children": self._close_children,
            "current": self._current,
            "register": self._register,
            "contend": self._contend,
        }

    @property
    def client(self) -> MlflowClient:
        """MLflow's own client of the store."""
        if self._client is None:
            self._client = make_client(self.uri)
        return self._client

    def id_of(self, key: str) -> str:
        """The id of a run this writer has created or found, else ""."""
        return self._ids.get(key, "")

    def is_complete(self, key: str) -> bool:
        """Whether a run that is recorded once was found finished; what is written to it has no effect then."""
        return key in self._complete

    def answers(self) -> bool:
        """Whether the store answers what anybody may ask: a write that fails then fails for a reason of its own."""
        try:
            ask(self.client, self.uri)
        except (TrackingUnavailable, DataError):
            return False
        return True

    def apply(self, write: Write) -> str:
        """Make one write; returns what the store says of it, "" where it says nothing.

        MLflow looks whether a row is there before it inserts it: of two runs that name the same dataset at once, one fails, and
        finds the row when it tries again.
        """
        for _ in range(TRIES - 1):
            try:
                return self._once(write)
            except DataError as error:
                if not _CONFLICT.search(str(error)):
                    raise
        return self._once(write)

    def _once(self, write: Write) -> str:
        with reachable(self.uri):
            if write.kind == "create":
                return self._create(write)
            if write.run in self._complete:
                return ""
            run_id = self._ids.get(write.run) or write.run_id
            if not run_id:
                raise DataError(f"no run of MLflow is known as {write.run}")
            return self._kinds[write.kind](run_id, write) or ""

    def _create(self, write: Write) -> str:
        """The run with this key: found, or created. With ``once``, one that is found finished is left as it is."""
        data = write.data
        experiment = self._experiment(data["experiment"])
        found = self.client.search_runs([experiment], filter_string=f"tags.`{KEY}` = '{write.run}'", max_results=1)
        if found:
            run_id = found[0].info.run_id
            if data.get("once") and found[0].info.status == "FINISHED":
                self._complete.add(write.run)
        else:
            tags = {**data["tags"], KEY: write.run}
            if parent := data.get("parent"):
                tags["mlflow.parentRunId"] = self._ids.get(parent) or data["parent_id"]
            created = self.client.create_run(experiment, start_time=write.at, run_name=data["name"], tags=tags)
            run_id = created.info.run_id
            self._points[run_id] = {}
        self._ids[write.run] = run_id
        return run_id

    def _experiment(self, name: str) -> str:
        from mlflow.exceptions import MlflowException

        found = self.client.get_experiment_by_name(name)
        if found is None:
            try:
                return str(self.client.create_experiment(name, tags=EXPERIMENT_TAGS))
            except MlflowException:  # another process was quicker
                found = self.client.get_experiment_by_name(name)
                if found is None:
                    raise
        if found.lifecycle_stage == "deleted":
            logger.warning("MLflow's experiment %s was deleted: it is restored, with its runs", name)
            self.client.restore_experiment(found.experiment_id)
        return str(found.experiment_id)

    def _status(self, run_id: str, write: Write) -> None:
        status = write.data["status"]
        if status == "RUNNING":
            self.client.update_run(run_id, status=status)
        else:
            self.client.set_terminated(run_id, status=status, end_time=write.at)

    def _metrics(self, run_id: str, write: Write) -> None:
        from mlflow.entities import Metric

        known = self._known_points(run_id)
        points = [(name, int(step), float("nan" if value is None else value)) for name, step, value in write.data["points"]]
        fresh = [(name, step, value) for name, step, value in points if _is_news(known, name, step, value)]
        for batch in _batches([Metric(name, value, write.at, step) for name, step, value in fresh]):
            self.client.log_batch(run_id, metrics=batch)
        known.update({(name, step): value for name, step, value in fresh})

    def _known_points(self, run_id: str) -> dict[tuple[str, int], float]:
        """Points the run has; read from the store for a run that was there before."""
        if run_id not in self._points:
            names = [name for name in self.client.get_run(run_id).data.metrics if not name.startswith("system/")]
            history = [point for name in names for point in self.client.get_metric_history(run_id, name)]
            history.sort(key=lambda point: point.timestamp)
            self._points[run_id] = {(point.key, point.step): point.value for point in history}
        return self._points[run_id]

    def _params(self, run_id: str, write: Write) -> None:
        from mlflow.entities import Param

        known = self.client.get_run(run_id).data.params
        rows = [Param(key, str(value)[:PARAM_CHARS]) for key, value in write.data["values"].items() if key not in known]
        for batch in _batches(rows, 100):
            self.client.log_batch(run_id, params=batch)

    def _tags(self, run_id: str, write: Write) -> None:
        from mlflow.entities import RunTag

        self.client.log_batch(run_id, tags=[RunTag(key, str(value)) for key, value in write.data["tags"].items()])

    def _inputs(self, run_id: str, write: Write) -> None:
        from tasks.pipeline.tracking.datasets import dataset_input

        self.client.log_inputs(run_id, datasets=[dataset_input(row) for row in write.data["datasets"]])

    def _file(self, run_id: str, write: Write) -> None:
        path, folder = Path(write.data["path"]), write.data["folder"]
        if not path.exists():
            raise DataError(f"{path} was to be kept with a run and is gone")
        if path.is_dir():
            self.client.log_artifacts(run_id, str(path), "/".join(part for part in (folder, path.name) if part))
        else:
            self.client.log_artifact(run_id, str(path), folder or None)

    def _text(self, run_id: str, write: Write) -> None:
        self.client.log_text(run_id, write.data["text"], write.data["file"])

    def _table(self, run_id: str, write: Write) -> None:
        """MLflow appends to a table that is there: so that one is replaced, as the file it is."""
        name, columns = write.data["file"], write.data["columns"]
        if name in {found.path for found in self.client.list_artifacts(run_id)}:
            rows = [list(row) for row in zip(*columns.values(), strict=True)]
            self.client.log_dict(run_id, {"columns": list(columns), "data": rows}, name)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # MLflow 3.17 calls pandas in a way that pandas 3 warns of
                self.client.log_table(run_id, columns, name)

    def _close(self, run_id: str, write: Write) -> None:
        """Mark the run as killed if its process left it open, and its parent if nothing else is at work below it.

        A run this store does not know is none to close.
        """
        from mlflow.exceptions import MlflowException

        try:
            run = self.client.get_run(run_id)
        except MlflowException as error:
            if error.get_http_status_code() != 404:
                raise
            return
        if run.info.status == "RUNNING":
            self.client.set_terminated(run_id, status="KILLED", end_time=write.at)
        parent = run.data.tags.get("mlflow.parentRunId")
        if parent and all(child.info.status != "RUNNING" for child in self._children(parent)):
            self._close(parent, write)

    def _close_children(self, run_id: str, write: Write) -> None:
        for left in self._children(run_id):
            if left.info.status == "RUNNING":
                self.client.set_terminated(left.info.run_id, status="KILLED", end_time=write.at)

    def _current(self, run_id: str, write: Write) -> None:
        """Of the children of this run those with the given keys are current, and no other is."""
        keys = write.data.get("keys", ())  # what an older version kept for a store that was away has none, and names a child
        for child in self._children(run_id):
            current = str(child.data.tags.get(KEY) in keys).lower()
            if child.data.tags.get("current") != current:
                self.client.set_tag(child.info.run_id, "current", current)

    def _children(self, run_id: str) -> Sequence[Any]:
        experiment = self.client.get_run(run_id).info.experiment_id
        condition = f"tags.`mlflow.parentRunId` = '{run_id}'"
        return self.client.search_runs([experiment], filter_string=condition, max_results=MOST_CHILDREN)

    def _register(self, run_id: str, write: Write) -> str:
        from tasks.pipeline.tracking.registry import register

        return register(self.client, run_id, write.data)

    def _contend(self, run_id: str, write: Write) -> str:
        from tasks.pipeline.tracking.registry import contend

        arms = {checkpoint: self._ids.get(run) or known for checkpoint, (run, known) in write.data["arms"].items()}
        base, known = write.data["base"]
        return contend(self.client, run_id, write.data["name"], arms, self._ids.get(base) or known)


def _is_news(known: Mapping[tuple[str, int], float], name: str, step: int, value: float) -> bool:
    """A point of a curve (step above 0) stays as it is; a figure (step 0) may change."""
    before = known.get((name, step))
    return before is None or (step == 0 and before != value)


def _batches(rows: Sequence[Any], size: int = BATCH) -> Iterator[list[Any]]:
    for start in range(0, len(rows), size):
        yield list(rows[start : start + size])
