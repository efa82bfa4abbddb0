"""Options of Prefect tasks: which are tried again, and after which failures."""

from __future__ import annotations

from typing import Any

from prefect import Task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.tasks import exponential_backoff

from fusesearch.core.errors import EndpointDown, InfrastructureError


def world_failed(task: Task[..., Any], run: TaskRun, state: State[Any]) -> bool:
    """Retry condition: only what the world did wrong is worth another try; bad params or data are not."""
    error = state.result(raise_on_failure=False)
    return isinstance(error, InfrastructureError | EndpointDown | OSError)


RETRIED: dict[str, Any] = {
    "retries": 4,
    "retry_delay_seconds": exponential_backoff(backoff_factor=5),
    "retry_jitter_factor": 0.3,
    "retry_condition_fn": world_failed,
    "cache_policy": NO_CACHE,
}
"""Options of tasks that meet the world: endpoints, subprocesses, disks. They go on from their journals."""

ONCE: dict[str, Any] = {"cache_policy": NO_CACHE}
"""Options of tasks that only compute."""
