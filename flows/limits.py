"""Global concurrency limits: what all runs of one Prefect server share, on whatever machine they are.

``make serve`` makes them with one slot each; change that in Prefect's pages or with ``prefect gcl update``. A server without
them, such as the one that ``dvc repro`` starts, limits nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prefect.concurrency.sync import concurrency

from fusesearch.core.config import Params
from tasks.stages import Stage

GITHUB = "github-api"  # GitHub's quota is per user, not per process
TEACHER = "teacher-endpoint"
GPU = "gpu"


def limits_of(stage: Stage, params: Params) -> list[str]:
    """The limits that a run of ``stage`` with ``params`` on this machine takes a slot of."""
    if stage.name == "mine" and params.mine.source == "github":
        return [GITHUB]
    if stage.name == "synthesize" and params.teacher.model:
        return [TEACHER]
    return [GPU] if stage.gpu and has_gpu() else []


@contextmanager
def occupied(names: list[str]) -> Iterator[None]:
    """Wait for a slot of each limit, and hold it within the block.

    The slots of a process that was killed are free after five minutes. A server that cannot be asked for longer than that may
    give them to another run; this one goes on.
    """
    with concurrency(names, occupy=1, strict=False, raise_on_lease_renewal_failure=False):
        yield


def has_gpu() -> bool:
    """Whether this machine has a GPU that torch can use."""
    import torch

    return torch.cuda.is_available()
