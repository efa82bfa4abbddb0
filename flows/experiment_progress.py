"""Progress of experiments: bars on a terminal, elsewhere a log line whenever a task starts or ends."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from prefect.exceptions import CancelledRun
from prefect.logging import get_run_logger
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from tasks.experiments.schedule import ExperimentTask, counts_in, duration, end_of
from tasks.running.dvc_command import Busy


@dataclass
class TaskState:
    """The state of a task. ``reason`` says why it failed, or, if ``busy``, that another process has it locked."""

    task: ExperimentTask
    state: Literal["waiting", "running", "done", "failed"] = "waiting"
    started: float = 0.0
    seconds: float = 0.0
    reason: str = ""
    busy: bool = False
    counts: tuple[int, int] | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """The task runs inside the block and ends with it."""
        self.state, self.started, self.counts = "running", time.monotonic(), None
        try:
            yield
        except Busy as error:
            self.state, self.busy, self.reason = "waiting", True, str(error)
            raise
        except CancelledRun:
            self.state = "waiting"
            raise
        except Exception as error:
            self.state, self.busy, self.reason = "failed", False, str(error)
            raise
        self.state, self.busy, self.reason = "done", False, ""
        self.seconds = time.monotonic() - self.started

    def update(self) -> None:
        """Read its progress from its log."""
        self.seconds = time.monotonic() - self.started
        if counts := counts_in(end_of(self.task.log)):
            self.counts, self.busy = counts, False

    @property
    def status(self) -> str:
        """The state in a word, or why the task waits: each new try of a locked task would otherwise change the state."""
        return self.reason if self.busy and self.state in ("waiting", "running") else self.state


@contextmanager
def watch(rows: Sequence[TaskState]) -> Iterator[Callable[[], None]]:
    """Yields a function that displays the current state of the rows."""
    if not sys.stderr.isatty():
        yield _Lines(rows)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield _Bars(progress, rows)


class _Bars:
    """One bar over all tasks, and one per running task."""

    def __init__(self, progress: Progress, rows: Sequence[TaskState]) -> None:
        self.progress, self.rows = progress, rows
        self.total = progress.add_task("all runs", total=len(rows), words="")
        self.bars: dict[str, TaskID] = {}

    def __call__(self) -> None:
        ended = sum(row.state in ("done", "failed") for row in self.rows)
        self.progress.update(self.total, completed=ended, words=f"{ended}/{len(self.rows)}")
        for row in self.rows:
            name = row.task.name
            if row.state == "running" or row.busy:
                if name not in self.bars:
                    self.bars[name] = self.progress.add_task(
                        f"{name} {escape(''.join(row.task.users[:1]))}", total=None, words=""
                    )
                done, total = row.counts or (0, None)
                words = row.status if row.busy else f"{done}/{total}" if row.counts else ""
                self.progress.update(self.bars[name], completed=done, total=total, words=escape(words))
            elif name in self.bars:
                self.progress.remove_task(self.bars.pop(name))


class _Lines:
    """A line in the flow's log when a task starts, waits for another process, or ends."""

    def __init__(self, rows: Sequence[TaskState]) -> None:
        self.rows = rows
        self.logger = get_run_logger()
        self.printed: dict[str, str] = {}

    def __call__(self) -> None:
        ended = sum(row.state in ("done", "failed") for row in self.rows)
        for row in self.rows:
            if row.status == self.printed.get(row.task.name, "waiting"):
                continue
            self.printed[row.task.name] = row.status
            took = f" in {duration(row.seconds)}" if row.state == "done" else f": {row.reason}" if row.state == "failed" else ""
            self.logger.info("[%d/%d] %s: %s%s", ended, len(self.rows), row.task.name, row.status, took)
