"""Progress of a stage where people look: a progress artifact in the Prefect UI, and lines in the log."""

from __future__ import annotations

import threading
import time
from contextvars import copy_context
from types import TracebackType
from typing import cast
from uuid import UUID

from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.logging import get_run_logger

UPDATE_SECONDS = 2.0
LOG_SECONDS = 30.0


class StageProgress:
    """Call it with rows done and rows in all; a thread passes the latest figures on.

    The artifact is updated from the thread and not by the caller, because the caller may be inside an event loop, where
    Prefect 3.7's ``update_progress_artifact`` would only return a coroutine, and because an update costs a request.
    """

    def __init__(self, stage: str) -> None:
        self.stage = stage
        self.done = 0
        self.total = 0
        self._artifact: UUID | None = None
        self._stopping = threading.Event()
        # in the caller's context, which holds the address of the server
        self._thread = threading.Thread(target=copy_context().run, args=(self._follow,), name=f"progress-{stage}", daemon=True)

    def __call__(self, done: int, total: int) -> None:
        """Note how far the stage is."""
        self.done, self.total = done, total

    def __enter__(self) -> StageProgress:
        self._logger = get_run_logger()
        key = f"{self.stage.replace('_', '-')}-progress"
        self._artifact = cast(UUID, create_progress_artifact(0.0, key=key, description=self.stage))
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stopping.set()
        self._thread.join(timeout=30)
        self._push(100.0 if kind is None else self.percent)

    @property
    def percent(self) -> float:
        """How much is done, from 0 to 100."""
        return 100.0 * min(self.done, self.total) / self.total if self.total else 0.0

    def _follow(self) -> None:
        pushed, said, logged = 0.0, -1, time.monotonic()
        while not self._stopping.wait(UPDATE_SECONDS):
            if self.percent != pushed:
                pushed = self.percent
                self._push(pushed)
            if self.done != said and time.monotonic() - logged >= LOG_SECONDS:
                said, logged = self.done, time.monotonic()
                self._logger.info("%s: %d of %d", self.stage, said, self.total)

    def _push(self, percent: float) -> None:
        if self._artifact is not None:
            try:
                update_progress_artifact(self._artifact, percent)
            except Exception as error:  # a bar that cannot be drawn is no reason to lose the stage's work
                self._logger.warning("progress could not be shown in Prefect: %s", error)
                self._artifact = None
