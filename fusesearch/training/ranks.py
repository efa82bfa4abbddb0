"""Ranks, as torch.distributed calls processes that train together on this machine."""

from __future__ import annotations

import logging
import multiprocessing
import os
import socket
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from typing import Any, TypeVar

from fusesearch.core.child import end_with_parent
from fusesearch.core.config import Compute
from fusesearch.core.cores import cores
from fusesearch.core.errors import AGAIN, ConfigError, FusesearchError, InfrastructureError

logger = logging.getLogger(__name__)

T = TypeVar("T")
Log = Callable[[dict[str, float]], None]
Work = Callable[..., dict[str, float]]
"""Trains and returns figures. Takes ``on_log``, which rank 0 calls for each logged step."""

HOST = "127.0.0.1"
PATIENCE = 24 * 3600
"""Seconds that ranks wait for one another: rank 0 makes rollouts meanwhile. One that dies ends all at once."""
RANK_VARIABLES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""Environment variables by which a rank knows itself and finds the others."""


def rank() -> int:
    """The number of this process among those that train together; 0 also for one that trains alone."""
    return int(os.environ.get("RANK", "0"))


def world_size() -> int:
    """How many processes train together."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def train_in_ranks(compute: Compute, work: Work, *arguments: Any, on_log: Log) -> dict[str, float]:
    """``work(*arguments)`` in this process, or in ``compute.ranks`` processes that train together. Returns what rank 0 returns.

    When a rank fails, all end.

    Raises:
        ConfigError: the machine has fewer GPUs, or without one fewer cores, than ranks.
        InfrastructureError: a rank died. A :class:`FusesearchError` of a rank is raised as it is.
    """
    if compute.ranks == 1:
        return work(*arguments, on_log=on_log)
    import torch
    from torch.multiprocessing.spawn import ProcessException, spawn

    gpus = torch.cuda.device_count()
    if (gpus or cores()) < compute.ranks:
        raise ConfigError(
            f"compute.ranks asks for {compute.ranks} {'GPUs' if gpus else 'cores, for want of a GPU'}: "
            f"this machine has {gpus or cores()}"
        )
    messages = multiprocessing.get_context("spawn").SimpleQueue()
    context = spawn(_rank, (compute.ranks, free_port(), messages, work, arguments), compute.ranks, join=False)
    last: dict[str, Any] = {}

    def read() -> None:
        while not messages.empty():
            kind, value = messages.get()
            if kind == "row":
                on_log(value)
            else:
                last.setdefault(kind, value)

    try:
        while not context.join(0.2):
            read()
        read()
    except ProcessException as error:
        read()
        if known := last.get("error"):
            raise known from None
        logger.warning("%s", error)
        reason = str(error).strip().splitlines()[-1]
        raise InfrastructureError(f"rank {error.error_index} of {compute.ranks} failed ({reason}): {AGAIN}") from None
    finally:
        for process in context.processes:
            process.kill()
    return last.get("figures", {})


def _rank(number: int, world: int, port: int, messages: Any, work: Work, arguments: tuple[Any, ...]) -> None:
    end_with_parent()
    values = (number, number, world, world, HOST, port)
    os.environ |= dict(zip(RANK_VARIABLES, map(str, values), strict=True))
    try:
        figures = work(*arguments, on_log=lambda row: messages.put(("row", row)))
    except FusesearchError as error:
        messages.put(("error", error))
        raise
    if rank() == 0:
        messages.put(("figures", figures))


def from_first_rank(make: Callable[[], T] | None) -> T:
    """Broadcast the result of rank 0; the others pass None. They wait on the CPU: NCCL would take time of GPUs that sample."""
    import torch

    group = _cpu_group() if world_size() > 1 else None
    made = [make() if make else None]
    if group:
        torch.distributed.broadcast_object_list(made, src=0, group=group)
    return made[0]  # type: ignore[return-value]


def wait_for_ranks() -> None:
    """Return once all ranks have called this."""
    import torch

    if world_size() > 1:
        torch.distributed.barrier(group=_cpu_group())


@cache
def _cpu_group() -> Any:
    import torch

    return torch.distributed.new_group(backend="gloo", timeout=timedelta(seconds=PATIENCE))


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
