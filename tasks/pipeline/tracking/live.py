"""A run and its curves in MLflow while a stage is at work. Best effort: what does not arrive is recorded at the end."""

from __future__ import annotations

import logging
import os
import platform
import queue
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tasks.core.digests import digest
from tasks.core.errors import TrackingUnavailable
from tasks.pipeline.record import RunRecord
from tasks.pipeline.stages import TRAINED
from tasks.pipeline.tracking.projection import KEY, LIVE, Projection, row_points
from tasks.pipeline.tracking.store import locked_client, tracking_uri, translated_errors, without_passwords

if TYPE_CHECKING:
    from mlflow import MlflowClient

SYSTEM = "MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING"
"""Environment variable, as MLflow has it: true or false."""
PLACE = "fusesearch.place"
"""Tag of a live run: digest of the working copy it is in."""
PATIENCE = 2.0
"""Seconds that the end of a stage waits for what is still to be sent."""
logger = logging.getLogger(__name__)


class Live:
    """``with Live(record) as live: live.log({"step": 1, "loss": 0.5})``.

    A thread of its own talks to the store, so that a store that is slow or away never holds up the stage. After one failure it
    stops trying. A block that ends well leaves the run open for :func:`~tasks.pipeline.tracking.track`; one that fails marks it
    as failed or killed. A killed stage goes on in its own run.
    """

    def __init__(self, record: RunRecord) -> None:
        self.record = record
        self._rows: queue.SimpleQueue[dict[str, Any] | str] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="live run", daemon=True)
        self._over = False

    def __enter__(self) -> Self:
        import mlflow  # noqa: F401  in this thread, since others import large libraries at the same time

        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        status = "" if kind is None else "FAILED" if issubclass(kind, Exception) else "KILLED"
        self._rows.put(status)
        self._thread.join(PATIENCE)
        self._over = True

    def log(self, row: Mapping[str, Any]) -> None:
        """Log the figures of a row of a training log at its ``step``."""
        if self._thread.is_alive():
            self._rows.put({**row, "": time.time()})

    def _work(self) -> None:
        uri = tracking_uri()
        try:
            with locked_client(uri) as client:
                run_id, parent = self._open(client)
            with translated_errors(uri):
                monitor = self._monitor(uri, run_id)
                try:
                    status = self._send(client, run_id)
                finally:
                    if monitor:
                        monitor.finish()
                for left in (run_id, parent) if status else ():
                    if left:
                        client.set_terminated(left, status=status)
        except TrackingUnavailable as error:
            logger.debug("no live run: %s", error)

    def _open(self, client: MlflowClient) -> tuple[str, str]:
        """The run that a killed process of this stage left, or a new one; returns its id and its parent's."""
        projection = Projection(client)
        place = digest(platform.node(), str(Path.cwd()))[:16]
        found = projection.find_live(self.record)
        run = found or projection.create(self.record, {LIVE: self.record.live_key, PLACE: place})
        parent = run.data.tags.get("mlflow.parentRunId", "")
        for open_run in (run.info.run_id, parent):
            if open_run:
                client.update_run(open_run, status="RUNNING")
        if found:
            client.set_tag(run.info.run_id, "resumed", "true")
        _close_others(client, run, place)
        return str(run.info.run_id), parent

    def _send(self, client: MlflowClient, run_id: str) -> str:
        """Send rows as they come; returns the status that the run ended with, "" if it ended well."""
        from mlflow.entities import Metric

        known: set[tuple[str, int]] | None = None
        while not self._over:
            row = self._rows.get()
            if isinstance(row, str):
                return row
            step, at = int(row["step"]), int(row.pop("") * 1000)
            points = {name.replace("@", "_at_"): value for name, value in row_points(row)}
            if known is None:
                known = {
                    (name, point.step)
                    for name in points.keys() & client.get_run(run_id).data.metrics.keys()
                    for point in client.get_metric_history(run_id, name)
                }
            metrics = [Metric(name, value, at, step) for name, value in points.items() if (name, step) not in known]
            client.log_batch(run_id, metrics=metrics)
        return ""

    def _monitor(self, uri: str, run_id: str) -> Any:
        """MLflow's own record of processor, memory, disk, network and GPU: of training, or as :data:`SYSTEM` says."""
        wanted = os.environ.get(SYSTEM, "").lower() or str(self.record.stage in TRAINED).lower()
        if wanted not in ("true", "1"):
            return None
        from mlflow.system_metrics.system_metrics_monitor import SystemMetricsMonitor

        try:
            monitor = SystemMetricsMonitor(run_id, resume_logging=True, tracking_uri=uri)
        except Exception as error:  # such as a container without a network, of which psutil says nothing
            logger.warning("no system metrics: %s", without_passwords(str(error)))
            return None
        monitor.start()
        return monitor


def _close_others(client: MlflowClient, run: Any, place: str) -> None:
    """Close the runs that killed processes of this stage left here with other inputs: nobody goes on in them."""
    tags = run.data.tags
    same = f"tags.`{PLACE}` = '{place}' and tags.stage = '{tags['stage']}' and attributes.status = 'RUNNING'"
    for left in client.search_runs([run.info.experiment_id], same):
        if left.info.run_id == run.info.run_id or left.data.tags.get("node") != tags.get("node") or KEY in left.data.tags:
            continue
        client.set_terminated(left.info.run_id, status="KILLED")
        parent = left.data.tags.get("mlflow.parentRunId")
        if parent and parent != tags.get("mlflow.parentRunId"):
            client.set_terminated(parent, status="KILLED")
