"""How far the jobs of experiments are: bars on a terminal, elsewhere a line in the log whenever one starts or ends."""

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

from tasks.pipeline.dvc_command import Busy
from tasks.pipeline.experiments.jobs import Job, counts_in, duration, end_of, job_seconds, seconds_left
from tasks.pipeline.timing import usual_seconds


@dataclass
class Row:
    """Where a job stands. ``held``: another process is at the same work; ``reason`` then says so, or why it failed."""

    job: Job
    state: Literal["waiting", "running", "done", "failed"] = "waiting"
    started: float = 0.0
    seconds: float = 0.0
    reason: str = ""
    held: bool = False
    counts: tuple[int, int] | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """The job runs inside the block, and has ended with it."""
        self.state, self.started, self.counts = "running", time.monotonic(), None
        try:
            yield
        except Busy as error:
            self.state, self.held, self.reason = "waiting", True, str(error)
            raise
        except CancelledRun:
            self.state = "waiting"
            raise
        except Exception as error:
            self.state, self.held, self.reason = "failed", False, str(error)
            raise
        self.state, self.held, self.reason = "done", False, ""
        self.seconds = time.monotonic() - self.started

    def look(self) -> None:
        """Read from its log how far it is."""
        self.seconds = time.monotonic() - self.started
        if counts := counts_in(end_of(self.job.log)):
            self.counts, self.held = counts, False

    @property
    def words(self) -> str:
        """The state in a word, or that another process holds the job, which each new try of it does not change."""
        return self.reason if self.held and self.state in ("waiting", "running") else self.state


@contextmanager
def watch(rows: Sequence[Row], workers: int) -> Iterator[Callable[[], None]]:
    """Yields what shows the rows as they are now."""
    if not sys.stderr.isatty():
        yield _Lines(rows, workers)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield _Bars(progress, rows, workers)


class _Bars:
    """A bar for all jobs with the time left, and one for each that runs."""

    def __init__(self, progress: Progress, rows: Sequence[Row], workers: int) -> None:
        self.progress, self.rows, self.workers = progress, rows, workers
        self.whole = progress.add_task("all runs", total=len(rows), words="")
        self.bars: dict[str, TaskID] = {}

    def __call__(self) -> None:
        ended = sum(row.state in ("done", "failed") for row in self.rows)
        self.progress.update(self.whole, completed=ended, words=left_of(self.rows, self.workers))
        for row in self.rows:
            name = row.job.name
            if row.state == "running" or row.held:
                if name not in self.bars:
                    self.bars[name] = self.progress.add_task(f"{name} {escape(''.join(row.job.users[:1]))}", total=None, words="")
                done, total = row.counts or (0, None)
                words = row.words if row.held else f"{done}/{total}" if row.counts else ""
                self.progress.update(self.bars[name], completed=done, total=total, words=escape(words))
            elif name in self.bars:
                self.progress.remove_task(self.bars.pop(name))


class _Lines:
    """A line in the flow's log when a job starts, waits for another process, and ends."""

    def __init__(self, rows: Sequence[Row], workers: int) -> None:
        self.rows, self.workers = rows, workers
        self.logger = get_run_logger()
        self.shown: dict[str, str] = {}

    def __call__(self) -> None:
        ended = sum(row.state in ("done", "failed") for row in self.rows)
        for row in self.rows:
            if row.words == self.shown.get(row.job.name, "waiting"):
                continue
            self.shown[row.job.name] = row.words
            took = f" in {duration(row.seconds)}" if row.state == "done" else f": {row.reason}" if row.state == "failed" else ""
            left = left_of(self.rows, self.workers)
            self.logger.info("[%d/%d] %s: %s%s; %s", ended, len(self.rows), row.job.name, row.words, took, left)


def left_of(rows: Sequence[Row], workers: int) -> str:
    """About how long the jobs that have not ended will take."""
    usual = usual_seconds()
    whole = seconds_left([row.job for row in rows if row.state in ("waiting", "running")], usual)
    if whole is None:
        return "time left not known yet"
    gone = sum(min(row.seconds, job_seconds(row.job, usual) or 0.0) for row in rows if row.state == "running")
    return f"{duration(max(0.0, whole - gone) / workers)} left"
