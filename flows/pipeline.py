"""What deployments run (``flows/prefect.yaml``): the whole pipeline, one stage. By hand, use ``dvc repro``.

Every stage runs as ``dvc repro --single-item STAGE``: DVC decides whether it runs, keeps other runs from its files and remembers
what it made, so a pipeline that was cut off continues where it was. The stage's own flow is a run of its own in Prefect.
"""

from __future__ import annotations

import subprocess
from enum import StrEnum
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.logging import get_run_logger

from fusesearch.core.config import load_params
from fusesearch.core.errors import DataError
from tasks.code import write_code
from tasks.running.dvc_command import PATIENCE, RETRY_SECONDS, Busy, is_busy, reason, repro
from tasks.stages import STAGES

StageName = StrEnum("StageName", {name: name for name in STAGES})  # type: ignore[misc]
NAMES = tuple(STAGES)


def _held(task: object, run: TaskRun, state: State[Any]) -> bool:
    return isinstance(state.result(raise_on_failure=False), Busy)


@task(
    task_run_name="{stage}", cache_policy=NO_CACHE,
    retries=PATIENCE, retry_delay_seconds=RETRY_SECONDS, retry_condition_fn=_held,
)  # fmt: skip
def reproduce(stage: str, again: bool = False) -> None:
    """Run a stage if DVC finds it changed, or ``again`` in any case.

    Raises :class:`Busy`, which is tried again for an hour, if another process runs it or reads what it made; :class:`DataError`
    if it fails, with its own line.
    """
    write_code(load_params())  # --single-item leaves out the stage that does it
    command = repro(stage, *["--force"] * again)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    get_run_logger().info(done.stdout.strip())
    if done.returncode and is_busy(done.stdout):
        raise Busy(f"{stage}: another process runs it, or reads what it made")
    if done.returncode:
        raise DataError(f"{stage}: {reason(done.stdout, done.returncode)}")


@flow(name="pipeline", flow_run_name="pipeline")
def pipeline(until: StageName = StageName["report"], again: bool = False, mine_again: bool = False) -> None:
    """The stages from mining to the report, each if something it depends on changed.

    Args:
        until: The last stage to run.
        again: Run every stage, whether or not anything changed.
        mine_again: Mine what is new, as every night; the other stages run if that changed what they read.
    """
    for name in NAMES[: NAMES.index(until) + 1]:
        reproduce(name, again or (mine_again and name == "mine"))


@flow(name="stage", flow_run_name="{stage}")
def one_stage(stage: StageName, again: bool = False) -> None:
    """One stage with the values of params.yaml.

    Args:
        stage: Its name.
        again: Run it even if nothing changed.
    """
    reproduce(stage, again)
