"""The work of a stage spread over the workers of a Ray cluster, one task per share (:mod:`tasks.pipeline.shares`).

Off unless ``FUSESEARCH_RAY`` is set: ``local`` for workers on this machine, or the address of a cluster (``host:6379`` from one
of its machines, ``ray://host:10001`` from elsewhere) whose machines have this working tree at the same path.
``FUSESEARCH_RAY_WORKERS`` says how many workers there are (2).
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from prefect import flow, task
from prefect.logging import get_run_logger

from flows.limits import has_gpu
from flows.retries import RETRIED
from tasks.core.config import Params
from tasks.core.errors import ConfigError, InfrastructureError
from tasks.pipeline.node import Job
from tasks.pipeline.places import Places
from tasks.pipeline.shares import Row, Share, run_share, shares_of, take_in

SHARES_PER_WORKER = 4
"""Several, so that a worker that is done early takes another, and a lost one costs little."""


@task(name="run share", task_run_name="{share.name}", **RETRIED)
def run_remotely(share: Share, params: Params, places: Places, root: str) -> list[Row]:
    """A share of the work, on a worker."""
    os.chdir(root)
    return run_share(share, params, places)


def fan_out(job: Job) -> None:
    """Let the workers fill the journals of a stage, if there are any; what they leave out is left to the stage.

    Raises :class:`ConfigError` when a cluster is named and Ray is not installed, or the number of workers is none,
    :class:`InfrastructureError` where the cluster does not answer.
    """
    address = os.environ.get("FUSESEARCH_RAY", "")
    if not address:
        return
    workers = workers_named()
    check_reachable(address)
    shares = shares_of(job.stage.name, job.params, job.places, job.scratch, workers * SHARES_PER_WORKER)
    if shares:
        spread = flow(name=f"{job.stage.name}-shares", task_runner=_runner(address, workers))(_spread)
        spread(_Work(job, shares))


def workers_named() -> int:
    """``FUSESEARCH_RAY_WORKERS``, or two. Raises :class:`ConfigError` for what is no number of workers."""
    given = os.environ.get("FUSESEARCH_RAY_WORKERS") or "2"
    if not given.isdecimal() or int(given) < 1:
        raise ConfigError(f"FUSESEARCH_RAY_WORKERS is {given!r}: a number of workers is needed, such as 2")
    return int(given)


def check_reachable(address: str) -> None:
    """Raise :class:`InfrastructureError` at once where nobody listens, which Ray would try for minutes.

    Raises :class:`ConfigError` for what is no address.
    """
    try:
        place = urlsplit(address if "://" in address else f"//{address}")
        port = place.port
    except ValueError:
        raise ConfigError(f"FUSESEARCH_RAY is {address!r}: use local, HOST:PORT or ray://HOST:PORT") from None
    if port is None:
        return
    try:
        socket.create_connection((place.hostname, port), timeout=10).close()
    except OSError:
        raise InfrastructureError(f"the Ray cluster at {address} does not answer: start it, or unset FUSESEARCH_RAY") from None


class _Work:
    """What the flow of the shares is called with.

    prefect-ray sends the parameters of the flow along with every task: of this one nothing is sent.
    """

    def __init__(self, job: Job, shares: list[Share]) -> None:
        self.job, self.shares = job, shares

    def __getstate__(self) -> dict[str, Any]:
        return {}


def _spread(work: Any) -> None:
    job, root = work.job, str(Path.cwd())
    with _resources(job.stage.gpu):
        waiting = [(share, run_remotely.submit(share, job.params, job.places, root)) for share in work.shares]
    for done, (share, future) in enumerate(waiting, 1):
        rows = future.result(raise_on_failure=False)
        if isinstance(rows, list):
            take_in(share, rows, job.scratch)
        else:
            get_run_logger().warning("%s is left to this process: %s", share.name, rows)
        job.progress(done, len(waiting))


def _resources(gpu: bool) -> Any:
    """What a task of Ray reserves: a processor; and a GPU where models are asked and this machine, like the others, has one."""
    from prefect_ray.context import remote_options

    return remote_options(num_cpus=1, num_gpus=int(gpu and has_gpu()))


def _runner(address: str, workers: int) -> Any:
    try:
        from prefect_ray import RayTaskRunner
    except ImportError:
        raise ConfigError(
            "FUSESEARCH_RAY is set and Ray is not installed: pip install -c requirements.lock -e '.[ray]', or unset it"
        ) from None

    environment = {"PYTHONPATH": str(Path.cwd()), "DO_NOT_TRACK": "true"}
    options: dict[str, Any] = {"runtime_env": {"env_vars": environment}, "logging_level": "warning"}
    if address == "local":  # told to Ray, which would otherwise join a cluster that runs, or ran, on this machine
        options |= {"num_cpus": workers, "include_dashboard": False}
    return RayTaskRunner(address=address, init_kwargs=options)
