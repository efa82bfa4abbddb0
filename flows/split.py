"""Divide instances by repository into sft, rl and validation."""

from typing import Any

from prefect import flow, task

from flows.stage import ONCE, Stage, run_stage, stage
from tasks.stages.splitting import split_instances


@task(name="split by repository", **ONCE)
def split_by_repository(current: Stage) -> dict[str, Any]:
    """Assign every repository to one split."""
    return split_instances(current.params, current.scratch, current.progress)


@flow(name="split")
def split_flow() -> dict[str, Any]:
    """``data/filtered`` to ``data/splits``."""
    with stage("split") as current:
        current.metrics = split_by_repository(current)
    return current.metrics


if __name__ == "__main__":
    run_stage(split_flow)
