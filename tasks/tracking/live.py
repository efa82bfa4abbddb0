"""A run and its curves in MLflow while a stage runs. Best effort: points that do not arrive are recorded at the end."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from fusesearch.core.errors import TrackingUnavailable
from tasks.running.record import RunRecord
from tasks.tracking.projection import LIVE, Projection, row_points
from tasks.tracking.store import locked_client, tracking_uri, translated_errors

if TYPE_CHECKING:
    from mlflow.entities import Run

PATIENCE = 2.0
"""Seconds that the end of a stage waits for unsent rows."""
logger = logging.getLogger(__name__)


class Live:
    """``with Live(record) as live: live.log({"step": 1, "loss": 0.5})``.

    A thread talks to the store, so that a slow or absent store never delays the stage. It stops after the first failure. A block
    that succeeds leaves the run open for :func:`~tasks.tracking.track`; a block that fails marks the run as failed or
    killed. A killed stage resumes in its own run.
    """

    def __init__(self, record: RunRecord) -> None:
        self.record = record
        self._rows: queue.SimpleQueue[dict[str, Any] | str] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="live run", daemon=True)
        self._over = False

    def __enter__(self) -> Self:
        import mlflow  # noqa: F401  here, not in the thread: other threads import large libraries at the same time

        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        status = "" if kind is None else "FAILED" if issubclass(kind, Exception) else "KILLED"
        self._rows.put(status)
        self._thread.join(PATIENCE)
        self._over = True

    def log(self, row: Mapping[str, Any]) -> None:
        """Log the numbers of a row of a training log at its ``step``."""
        if self._thread.is_alive():
            self._rows.put({**row, "": time.time()})

    def _work(self) -> None:
        uri = tracking_uri()
        try:
            with locked_client(uri) as client:
                projection = Projection(client)
                run, parent = self._open(projection)
                model = projection.model(run, self.record)
            with translated_errors(uri):
                status = self._send(projection, run, model)
                for ended in filter(None, (run.info.run_id, parent) if status else ()):
                    client.set_terminated(ended, status=status)
        except TrackingUnavailable as error:
            logger.debug("no live run: %s", error)

    def _open(self, projection: Projection) -> tuple[Run, str]:
        """Open the run that a killed process of this stage left, or a new run. Returns it and its parent's id."""
        client, found = projection.client, projection.find_live(self.record)
        run = found or projection.create(self.record, {LIVE: self.record.live_key})
        parent = run.data.tags.get("mlflow.parentRunId", "")
        for opened in filter(None, (run.info.run_id, parent)):
            client.update_run(opened, status="RUNNING")
        if found:
            client.set_tag(run.info.run_id, "resumed", "true")
        return run, parent

    def _send(self, projection: Projection, run: Run, model: str) -> str:
        """Send rows as they come. Returns the status of the ended run, "" if it succeeded."""
        while not self._over:
            row = self._rows.get()
            if isinstance(row, str):
                return row
            step, at = int(row["step"]), row.pop("")
            projection.points(run, [(name, step, value, at) for name, value in row_points(row)], model)
        return ""
