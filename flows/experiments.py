"""Experiments: one Prefect flow, with a task for every node that waits for those it builds on and runs it in its own process.

A task runs ``dvc repro`` for one stage, so DVC remembers every node as soon as it is done, and a node that was cut off continues
where it stopped. Whatever ends the flow (Ctrl-C, a kill, a lost server), the same command goes on from there.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent import futures
from threading import Event
from typing import Annotated, Any

import httpx
from prefect import flow, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.exceptions import CancelledRun
from prefect.logging.configuration import setup_logging
from prefect.runtime import deployment, flow_run
from prefect.task_runners import ThreadPoolTaskRunner
from pydantic import Field

from flows.experiment_progress import Row, watch
from flows.server import prefect_server
from tasks.core.config import load_params
from tasks.core.errors import AGAIN, DataError, FusesearchError, InfrastructureError
from tasks.core.storage import read_text
from tasks.pipeline.dvc_command import PATIENCE, Busy, is_busy
from tasks.pipeline.dvc_command import RETRY_SECONDS as BUSY_SECONDS
from tasks.pipeline.experiments.dvc_file import write_dvc_files
from tasks.pipeline.experiments.jobs import LOGS, Job, alone, end_of, up_to_date, workers_for
from tasks.pipeline.experiments.mlflow_runs import record
from tasks.pipeline.experiments.outcome import outcomes
from tasks.pipeline.experiments.rebuild import write_overview
from tasks.pipeline.experiments.results import write_results
from tasks.pipeline.experiments.spec import load_experiment
from tasks.pipeline.experiments.todo import left_to_do
from tasks.pipeline.process import OWNER, identity
from tasks.reporting.experiment.results import PAGE

TRIES = 3
"""Runs of a node whose server went away."""

RETRY_SECONDS = 10.0
HELD_TRIES = int(PATIENCE * BUSY_SECONDS / RETRY_SECONDS)
"""An hour of tries of a node that another process holds: a deployment's stage, or another ``dvc repro``."""

POLL_SECONDS = 0.2
GRACE_SECONDS = 60.0
_EXITED = re.compile(r"exited with (-?\d+)")


class LostServer(InfrastructureError):
    """A node failed because a server went away; run again, it continues."""


def run_experiments(names: Sequence[str], seeds: Sequence[int] | None, workers: int | None) -> None:
    """Run the flow from a terminal. Raises :class:`DataError` if a node failed."""
    setup_logging()
    for handler in logging.getLogger().handlers:
        handler.addFilter(_belongs_on_console)
    try:
        with prefect_server():
            experiment(list(names), list(seeds) if seeds else None, workers)
    except httpx.TransportError as error:
        raise InfrastructureError(f"the Prefect server no longer answers ({type(error).__name__}): {AGAIN}") from None


def _belongs_on_console(record: logging.LogRecord) -> bool:
    """Bars take the place of a log on a terminal, and the command itself reports what failed. The server gets all records."""
    error = record.exc_info[1] if record.exc_info else None
    return not sys.stderr.isatty() and not isinstance(error, FusesearchError)


@flow(name="experiment", flow_run_name=lambda: ", ".join(flow_run.parameters["names"]), log_prints=True)
def experiment(
    names: list[str], seeds: list[int] | None = None, jobs: Annotated[int, Field(ge=1)] | None = None, dry_run: bool = False
) -> None:
    """Run what experiments need and do not have, then write their results and the page over all.

    Only one such flow runs in a working copy: one that a deployment started waits until an earlier one has ended.

    Args:
        names: Folders of the experiments.
        seeds: Some of their seeds; empty: all.
        jobs: Nodes at once; empty: two where cores and memory allow it.
        dry_run: Only list, in the log, what would run.
    """
    with alone(wait=bool(deployment.id)):
        left, total = left_to_do([load_experiment(name) for name in names], seeds)
        print(f"{len(left)} of {total} to run")
        if dry_run:
            for job in left:
                print(f"{job.name}: {'; '.join(job.users)}")
            return
        if left:
            write_dvc_files()
            run_jobs(left, jobs or workers_for(load_params()))
        write_overview()


def run_jobs(jobs: Sequence[Job], workers: int) -> None:
    """Inside a flow: run ``jobs``, each after those it needs, as tasks on ``workers`` threads.

    A job does not run if one that it needs failed; the others go on. Raises :class:`DataError` at the end if any failed.
    """
    rows = {job.name: Row(job) for job in jobs}
    stopped = Event()
    environment = _environment()

    @task(retries=HELD_TRIES, retry_delay_seconds=RETRY_SECONDS, retry_condition_fn=_may_run_again, cache_policy=NO_CACHE)
    def node(name: str) -> None:
        with rows[name].running():
            _run_node(rows[name], environment, stopped)

    @task(cache_policy=NO_CACHE)
    def results(name: str) -> None:
        with rows[name].running():
            _write_results(rows[name].job.users[0])

    started: dict[str, Any] = {}
    with ThreadPoolTaskRunner[Any](max_workers=workers) as runner:
        try:
            for job in jobs:
                kind = (node if job.target else results).with_options(name=job.stage, task_run_name=job.name)
                needs = [started[name] for name in job.needs if name in started]
                started[job.name] = runner.submit(kind, {"name": job.name}, wait_for=needs)
            with watch(list(rows.values()), workers) as show:
                pending = {future.wrapped_future for future in started.values()}
                while pending:
                    pending = futures.wait(pending, timeout=POLL_SECONDS).not_done
                    show()
            for future in started.values():
                future.wait()  # or its state would be asked from the server
        finally:
            stopped.set()  # or the runner, which waits for its threads, would wait for the nodes
    failed = [rows[name] for name, future in started.items() if future.state.is_failed()]
    if failed:
        reasons = "; ".join(f"{row.job.name} failed: {row.reason} (its output: {row.job.log})" for row in failed)
        blocked = sum(row.state == "waiting" for row in rows.values() if row not in failed)
        raise DataError(f"{reasons}; {len(failed)} failed, {blocked} wait for them; {AGAIN}")


def _environment() -> dict[str, str]:
    return {
        **os.environ,
        "PATH": f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ.get('PATH', '')}",
        OWNER: identity(os.getpid()),
    }


def command(job: Job) -> list[str]:
    """What runs a node: DVC, which also records that it is done."""
    return [sys.executable, "-m", "dvc", "--wait-for-lock", "repro", "--single-item", job.target]


def _run_node(row: Row, environment: dict[str, str], stopped: Event) -> None:
    """Run a node to its end, in a process group of its own, so that Ctrl-C reaches it once: from here."""
    LOGS.mkdir(parents=True, exist_ok=True)
    with row.job.log.open("wb") as log:
        process = subprocess.Popen(
            command(row.job), stdout=log, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
    while process.poll() is None and not stopped.wait(POLL_SECONDS):
        row.look()
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if stopped.is_set():
        raise CancelledRun
    printed = end_of(row.job.log)
    if process.returncode and is_busy(printed):
        raise Busy("waits: another process runs it, or reads what it made (a deployment, or `dvc repro`)")
    if process.returncode:
        reason = _reason(printed, process.returncode)
        raise LostServer(reason) if AGAIN in printed else DataError(reason)


def _reason(printed: str, code: int) -> str:
    """One line: the stage's own error, else what ended it, else the last line it printed."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    if errors := [line for line in lines if line.startswith("error:")]:
        return errors[-1].removeprefix("error:").strip()
    exits = [code, *map(int, _EXITED.findall(printed))]
    if killed := {-status if status < 0 else status - 128 for status in exits} & signal.valid_signals():
        return f"killed by signal {min(killed)}{', often for lack of memory' if signal.SIGKILL in killed else ''}"
    own = [line for line in lines if not line.startswith("ERROR: failed to reproduce")]  # DVC's last line, whatever failed
    return own[-1] if own else f"exit code {code}"


def _may_run_again(task: object, run: TaskRun, state: State[Any]) -> bool:
    error = state.result(raise_on_failure=False)
    return isinstance(error, Busy) or (isinstance(error, LostServer) and run.run_count < TRIES)


def _write_results(name: str) -> None:
    """Table, tests, verdicts and figures beside the experiment's file, over the runs that are finished; its arms in MLflow."""
    found = load_experiment(name)
    runs = outcomes(found, up_to_date())
    record(found, runs, write_results(found, runs), load_params())
    create_markdown_artifact(
        read_text(found.folder / PAGE), key=f"results-{name.replace('_', '-')}", description=f"Experiment {name}"
    )
