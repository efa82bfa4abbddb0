"""The parts of a stage's work (:mod:`tasks.running.parts`) as Prefect tasks, in processes or on a Ray cluster.

The cores of a machine without a GPU share the work of :data:`LEAST`. With ``FUSESEARCH_RAY`` a Ray cluster shares that of all
stages that can be divided: ``local`` for one on this machine, or the address of a cluster (``host:6379`` from one of its
machines, ``ray://host:10001`` from elsewhere) whose machines have this working tree at the same path.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from prefect import task
from prefect.context import refresh_global_settings_context
from prefect.logging import get_run_logger
from prefect.settings import PREFECT_API_URL
from prefect.task_runners import ProcessPoolTaskRunner

from flows.limits import has_gpu
from flows.retries import RETRIED
from fusesearch.core.child import end_with_parent
from fusesearch.core.cores import cores
from tasks.running.node import Job
from tasks.running.parts import Part, done, join, parts_of

CLUSTER_PARTS = 256
"""Several for each core of a cluster, so that a worker that is done early takes another, and a lost one costs little."""

LEAST = {"evaluate": 400}
"""Fewest keys of a stage (instances of all cells) that are worth the ten seconds in which processes start."""


@task(name="part", task_run_name="{job.node.stage}: {part}", **RETRIED)
def do(job: Job, part: Part, root: str) -> Any:
    """A part of the work, in another process."""
    end_with_parent()
    os.chdir(root)
    return done(job, part)


def fan_out(job: Job) -> None:
    """Let workers fill the journals of a stage, if there are any; what they leave out is left to the stage."""
    gpu = job.stage.gpu and has_gpu()
    if address := os.environ.get("FUSESEARCH_RAY", ""):
        import prefect_ray.context  # of the extra [ray]

        path = os.pathsep.join(filter(None, [str(Path.cwd()), os.environ.get("PYTHONPATH")]))  # workers find this project
        options = {"runtime_env": {"env_vars": {"PYTHONPATH": path, "DO_NOT_TRACK": "true"}}}
        with prefect_ray.context.remote_options(num_gpus=int(gpu)):
            _spread(job, parts_of(job, CLUSTER_PARTS), prefect_ray.RayTaskRunner(address, init_kwargs=options))
    elif job.stage.name in LEAST and cores() > 1 and not gpu:
        parts = parts_of(job, cores())
        if sum(len(part.keys) for part in parts) >= LEAST[job.stage.name]:
            os.environ["PREFECT_API_URL"] = PREFECT_API_URL.value()
            refresh_global_settings_context()  # for the runner's threads, which would start a server of their own
            _spread(job, parts, ProcessPoolTaskRunner(cores()))


def _spread(job: Job, parts: list[Part], runner: Any) -> None:
    sent = {"job": Job(job.node, job.params, job.places, job.scratch), "root": str(Path.cwd())}
    with runner:
        waiting = [(part, runner.submit(do, {**sent, "part": part})) for part in parts]
        for number, (part, future) in enumerate(waiting, 1):
            made = future.result(raise_on_failure=False)
            if isinstance(made, tuple):
                join(job, part, *made)
            else:
                get_run_logger().warning("%s: %s is left to this process: %s", job.stage.name, part, made)
            job.progress(number, len(parts))
