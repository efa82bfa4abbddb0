"""The Prefect flow that runs experiments: one task per node, one after another, as each takes all cores.

A task runs ``dvc repro`` for one node in its own process, so DVC records each node as soon as it is done, and an interrupted node
resumes where it stopped. After Ctrl-C, a kill or a lost server, run the same command again to resume.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import httpx
from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.logging import get_run_logger
from prefect.runtime import deployment, flow_run, task_run

from flows.command import one_line_errors
from flows.server import prefect_server
from fusesearch.core import child
from fusesearch.core.config import load_params
from fusesearch.core.errors import AGAIN, DataError, InfrastructureError
from tasks.experiments.dvc_file import write_dvc_files
from tasks.experiments.mlflow_runs import track_experiment
from tasks.experiments.outcome import outcomes
from tasks.experiments.results import write_overview, write_results
from tasks.experiments.schedule import LOGS, ExperimentTask, experiments_lock, pending_tasks
from tasks.experiments.spec import load_experiment
from tasks.running.dvc_command import PATIENCE, Busy, is_busy, reason, repro, up_to_date
from tasks.running.dvc_command import RETRY_SECONDS as BUSY_SECONDS
from tasks.running.process import OWNER, identity

TRIES = 3
"""How often a node runs at most if its server goes away."""

RETRY_SECONDS = 10.0
BUSY_TRIES = int(PATIENCE * BUSY_SECONDS / RETRY_SECONDS)
"""An hour of tries while another process (a deployment's stage, another ``dvc repro``) has the node locked."""

GRACE_SECONDS = 60.0


class LostServer(InfrastructureError):
    """A node failed because a server went away. It resumes if it is run again."""


def run_experiments(names: Sequence[str], seeds: Sequence[int] | None) -> None:
    """Run the flow from a terminal. Raises :class:`DataError` if a node failed."""
    one_line_errors()
    try:
        with prefect_server():
            experiment(list(names), list(seeds) if seeds else None)
    except httpx.TransportError as error:
        raise InfrastructureError(f"the Prefect server no longer answers ({type(error).__name__}): {AGAIN}") from None


@flow(name="experiment", flow_run_name=lambda: ", ".join(flow_run.parameters["names"]), log_prints=True)
def experiment(names: list[str], seeds: list[int] | None = None) -> None:
    """Run the nodes that experiments lack, then write their results and the page over all experiments.

    Only one such flow runs in a working copy. A flow that a deployment started waits for an earlier one to end.

    Args:
        names: Folders of the experiments.
        seeds: Seeds to run; empty: all.
    """
    with experiments_lock(wait=bool(deployment.id)):
        pending, total = pending_tasks([load_experiment(name) for name in names], seeds)
        print(f"{len(pending)} of {total} to run")
        if pending:
            write_dvc_files()
            run_tasks(pending)
        write_overview()


def run_tasks(tasks: Sequence[ExperimentTask]) -> None:
    """Inside a flow: run the tasks one after another; each comes after those it needs.

    A task is skipped if one that it needs failed; the others run. Raises :class:`DataError` at the end if any failed.
    """
    rows = {row.name: row for row in tasks}
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ.get('PATH', '')}"
    environment = {**os.environ, "PATH": path, OWNER: identity(os.getpid())}

    @task(retries=BUSY_TRIES, retry_delay_seconds=RETRY_SECONDS, retry_condition_fn=_may_run_again, cache_policy=NO_CACHE)
    def node(name: str) -> None:
        _run_node(rows[name], environment)

    @task(cache_policy=NO_CACHE)
    def results(name: str) -> None:
        spec = load_experiment(rows[name].users[0])
        runs = outcomes(spec, up_to_date())
        track_experiment(spec, runs, write_results(spec, runs), load_params())

    failed: dict[str, Any] = {}
    blocked: set[str] = set()
    for row in tasks:
        if not blocked.union(failed).isdisjoint(row.needs):
            blocked.add(row.name)
            continue
        kind = (node if row.target else results).with_options(name=row.stage, task_run_name=row.name)
        state = kind(row.name, return_state=True)
        if state.is_failed():
            failed[row.name] = state.result(raise_on_failure=False)
    if failed:
        reasons = "; ".join(f"{name} failed: {error} (its output: {rows[name].log})" for name, error in failed.items())
        raise DataError(f"{reasons}; {len(failed)} failed, {len(blocked)} depend on them and were not run; {AGAIN}")


def _run_node(row: ExperimentTask, environment: Mapping[str, str]) -> None:
    """Run a node to its end. It gets its own process group, so that Ctrl-C reaches it only once, from here."""
    LOGS.mkdir(parents=True, exist_ok=True)
    with row.log.open("wb") as log:
        process = subprocess.Popen(
            repro(row.target), stdout=log, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
    try:
        process.wait()
    finally:
        if process.poll() is None:
            child.end(process, GRACE_SECONDS, signal.SIGINT)
    printed = row.log.read_text(encoding="utf-8", errors="replace")
    if process.returncode and is_busy(printed):
        if task_run.run_count == 1:
            get_run_logger().info("%s waits: a deployment or `dvc repro` runs it, or reads its output", row.name)
        raise Busy("another process runs it, or reads its output")
    if process.returncode:
        why = reason(printed, process.returncode)
        raise LostServer(why) if AGAIN in printed else DataError(why)


def _may_run_again(task: object, run: TaskRun, state: State[Any]) -> bool:
    error = state.result(raise_on_failure=False)
    return isinstance(error, Busy) or (isinstance(error, LostServer) and run.run_count < TRIES)
