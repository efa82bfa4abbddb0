"""``fusesearch experiment run``: what is left to do, done with a display of how far it is."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from tasks.cli import profiles
from tasks.cli.experiment_state import chosen, duration
from tasks.cli.output import usage_error
from tasks.core.config import load_params
from tasks.core.errors import AGAIN
from tasks.pipeline.experiments import engine
from tasks.pipeline.experiments.jobs import Job, job_seconds, seconds_left
from tasks.pipeline.experiments.locks import alone
from tasks.pipeline.experiments.rebuild import write_overview
from tasks.pipeline.experiments.spec import Experiment
from tasks.pipeline.experiments.todo import check, left_to_do
from tasks.pipeline.timing import usual_seconds


def run_experiments(names: Sequence[str], seeds: list[int] | None, workers: int | None, dry: bool, profile: str | None) -> int:
    """Do what is left of the experiments; returns the exit code."""
    experiments = chosen(names)
    for experiment in experiments:
        check(experiment, seeds)
    if dry:
        if profile and profile != load_params().profile:
            raise usage_error(f"a dry run leaves params.yaml as it is: `fusesearch profile use {profile}` first", "--profile")
        _left(experiments, seeds, workers)
        return 0
    with alone():
        if profile and profile != load_params().profile:
            profiles.use(profile, Path.cwd())
            typer.echo(f"params.yaml is now {profile}")
        left, at_once = _left(experiments, seeds, workers)
        code = _run(left, at_once) if left else 0
    if not code:
        write_overview()
    return code


def _left(experiments: Sequence[Experiment], seeds: list[int] | None, workers: int | None) -> tuple[list[Job], int]:
    """What is to be done, and how much of it at once; both are said."""
    left, total = left_to_do(experiments, seeds)
    workers = workers or engine.workers_for(load_params())
    _announce(left, total, workers)
    return left, workers


def _announce(left: Sequence[Job], total: int, workers: int) -> None:
    if not left:
        typer.echo(f"nothing to do: all {total} runs are there, and nothing they depend on has changed")
        return
    took = duration(seconds_left(left, usual_seconds(), workers))
    typer.echo(f"{len(left)} of {total} to run, {workers} at a time; time: {took}")
    for job in left:
        own = " (main pipeline)" if job.main else ""
        typer.echo(f"  {job.name}{own}: {'; '.join(job.users[:2])}{f' and {len(job.users) - 2} more' if job.users[2:] else ''}")


def _run(left: Sequence[Job], workers: int) -> int:
    started = time.monotonic()
    try:
        with _shown(len(left), workers) as watch:
            rows = engine.run_jobs(left, workers, watch)
    except KeyboardInterrupt:
        typer.echo(f"interrupted: {AGAIN}", err=True)
        return 130
    failed = [row for row in rows if row.state == "failed"]
    for row in failed:
        typer.echo(f"fusesearch: {row.job.name} failed: {row.reason} (all it said: {row.log})", err=True)
    blocked = sum(row.state == "blocked" for row in rows)
    if failed:
        typer.echo(f"{len(failed)} failed, {blocked} wait for them; the same command goes on from here", err=True)
        return 1
    typer.echo(f"done in {duration(time.monotonic() - started)}")
    return 0


@contextmanager
def _shown(total: int, workers: int) -> Iterator[engine.Watch]:
    """Bars on a terminal; elsewhere a line whenever a job ends."""
    if not sys.stderr.isatty():
        yield _Lines(total, workers)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[said]}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield _Bars(progress, total, workers)


class _Bars:
    """A bar for all jobs with the time left, and one for each that runs."""

    def __init__(self, progress: Progress, total: int, workers: int) -> None:
        self.progress, self.workers = progress, workers
        self.whole = progress.add_task("all runs", total=total, said="")
        self.tasks: dict[str, TaskID] = {}

    def __call__(self, rows: Sequence[engine.Progress]) -> None:
        ended = sum(row.state not in ("waiting", "running") for row in rows)
        self.progress.update(self.whole, completed=ended, said=left_of(rows, self.workers))
        for row in rows:
            if row.state == "running" or row.said != row.state:
                self._show(row)
            elif row.job.name in self.tasks:
                self.progress.remove_task(self.tasks.pop(row.job.name))

    def _show(self, row: engine.Progress) -> None:
        if row.job.name not in self.tasks:
            words = f"{row.job.name} {escape(row.job.users[0]) if row.job.users else ''}"
            self.tasks[row.job.name] = self.progress.add_task(words, total=None, said="")
        if row.said != row.state:
            self.progress.update(self.tasks[row.job.name], total=None, said=escape(row.said))
        elif row.counts:
            done, total = row.counts
            self.progress.update(self.tasks[row.job.name], completed=done, total=total, said=f"{done}/{total}")


class _Lines:
    """A line when a job begins and when it ends."""

    def __init__(self, total: int, workers: int) -> None:
        self.total, self.workers = total, workers
        self.known: dict[str, str] = {}

    def __call__(self, rows: Sequence[engine.Progress]) -> None:
        for row in rows:
            if row.said != self.known.get(row.job.name, "waiting"):
                self.known[row.job.name] = row.said
                typer.echo(self._line(row, rows), err=True)

    def _line(self, row: engine.Progress, rows: Sequence[engine.Progress]) -> str:
        ended = sum(other.state not in ("waiting", "running") for other in rows)
        took = f" in {duration(row.seconds)}" if row.state in ("done", "failed") else ""
        return f"[{ended}/{self.total}] {row.job.name}: {row.said}{took}; {left_of(rows, self.workers)}"


def left_of(rows: Sequence[engine.Progress], workers: int) -> str:
    """About how long the jobs that have not ended will take."""
    usual = usual_seconds()
    whole = seconds_left([row.job for row in rows if row.state in ("waiting", "running")], usual)
    if whole is None:
        return "time left not known yet"
    gone = sum(min(row.seconds, job_seconds(row.job, usual) or 0.0) for row in rows if row.state == "running")
    return f"{duration(max(0.0, whole - gone) / workers)} left"
