"""The work of a stage spread over processes, one task per share (:mod:`tasks.running.shares`).

The cores of a machine without a GPU share the work of :data:`LEAST` in a process each. With ``FUSESEARCH_RAY`` the workers of a
Ray cluster share that of all stages: ``local`` for workers on this machine, or the address of a cluster (``host:6379`` from one
of its machines, ``ray://host:10001`` from elsewhere) whose machines have this working tree at the same path.
``FUSESEARCH_RAY_WORKERS`` says how many workers there are (2).
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect.context import refresh_global_settings_context
from prefect.logging import get_run_logger
from prefect.settings import PREFECT_API_URL
from prefect.task_runners import ProcessPoolTaskRunner

from flows.limits import has_gpu
from flows.owner import end_with_starter
from flows.retries import RETRIED
from fusesearch.core.cluster import cluster_address, worker_options
from fusesearch.core.config import Params
from fusesearch.core.cores import cores
from fusesearch.core.errors import ConfigError
from tasks.running.node import Job
from tasks.running.places import Places
from tasks.running.process import OWNER, identity
from tasks.running.shares import Row, Share, run_share, shares_of, take_in

SHARES_PER_WORKER = 4
"""Several, so that a worker that is done early takes another, and a lost one costs little."""

LEAST = {"filter": 20, "evaluate": 400}
"""Fewest keys of a stage (repositories, instances of all cells) that are worth the ten seconds in which processes start."""


@task(name="run share", task_run_name="{share.name}", **RETRIED)
def run_remotely(share: Share, params: Params, places: Places, root: str, owner: str | None = None) -> list[Row]:
    """A share of the work, on a worker, which does not outlive the process ``owner``."""
    os.chdir(root)
    if owner:
        _end_with(owner)
    return run_share(share, params, places)


@cache
def _end_with(owner: str) -> None:
    os.environ[OWNER] = owner
    end_with_starter()


def fan_out(job: Job) -> None:
    """Let workers fill the journals of a stage, if there are any; what they leave out is left to the stage.

    Raises :class:`ConfigError` when a cluster is named and Ray is not installed, or the number of workers is wrong,
    :class:`InfrastructureError` where the cluster does not answer.
    """
    name, address = job.stage.name, cluster_address()
    runner: Any
    if address:
        workers = workers_named()
        shares = shares_of(name, job.params, job.places, job.scratch, workers * SHARES_PER_WORKER)
        runner, work = _ray(address, workers), _Work(job, shares, _resources(job.stage.gpu))
    elif name in LEAST and cores() > 1 and not (job.stage.gpu and has_gpu()):
        shares = shares_of(name, job.params, job.places, job.scratch, cores())
        if sum(len(share.keys) for share in shares) < LEAST[name]:
            return
        os.environ["PREFECT_API_URL"] = PREFECT_API_URL.value()
        refresh_global_settings_context()  # for the runner's threads, which would start a server of their own
        runner, work = ProcessPoolTaskRunner(cores()), _Work(job, shares, owner=identity(os.getpid()))
    else:
        return
    if shares:
        flow(name=f"{name}-shares", task_runner=runner)(_spread)(work)


def workers_named() -> int:
    """``FUSESEARCH_RAY_WORKERS``, or two. Raises :class:`ConfigError` if it is not a number of workers."""
    given = os.environ.get("FUSESEARCH_RAY_WORKERS") or "2"
    if not given.isdecimal() or int(given) < 1:
        raise ConfigError(f"FUSESEARCH_RAY_WORKERS is {given!r}: a number of workers is needed, such as 2")
    return int(given)


class _Work:
    """What the flow of the shares is called with.

    prefect-ray sends the parameters of the flow along with every task: of this one nothing is sent.
    """

    def __init__(self, job: Job, shares: list[Share], resources: Any = None, owner: str | None = None) -> None:
        self.job, self.shares, self.resources, self.owner = job, shares, resources or nullcontext(), owner

    def __getstate__(self) -> dict[str, Any]:
        return {}


def _spread(work: Any) -> None:
    job, root = work.job, str(Path.cwd())
    with work.resources:
        waiting = [(share, run_remotely.submit(share, job.params, job.places, root, work.owner)) for share in work.shares]
    done, total = 0, sum(len(share.keys) for share in work.shares)
    for share, future in waiting:
        rows = future.result(raise_on_failure=False)
        if isinstance(rows, list):
            take_in(share, rows, job.scratch)
        else:
            get_run_logger().warning("%s is left to this process: %s", share.name, rows)
        done += len(share.keys)
        job.progress(done, total)


def _resources(gpu: bool) -> Any:
    """What a task of Ray reserves: a processor; and a GPU where models are asked and this machine, like the others, has one."""
    from prefect_ray.context import remote_options

    return remote_options(num_cpus=1, num_gpus=int(gpu and has_gpu()))


def _ray(address: str, workers: int) -> Any:
    from prefect_ray import RayTaskRunner

    options = worker_options()
    if address == "local":  # told to Ray, which would otherwise join a cluster that runs, or ran, on this machine
        options |= {"num_cpus": workers, "include_dashboard": False}
    return RayTaskRunner(address=address, init_kwargs=options)
