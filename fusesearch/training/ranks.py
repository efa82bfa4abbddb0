"""Ranks, as torch.distributed calls processes that train together: those of one machine, started and watched."""

from __future__ import annotations

import logging
import multiprocessing
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any, TypeVar

from fusesearch.core.child import end_with_parent
from fusesearch.core.errors import FusesearchError

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


@dataclass(frozen=True)
class Group:
    """The ranks of one machine: ``count`` from ``first`` on, of ``world``, which find each other at rank 0's address and port.

    ``host`` is this machine's address among them.
    """

    first: int
    count: int
    world: int
    address: str
    port: int
    host: str = HOST


class RanksFailed(Exception):
    """A rank died: which one, and of what."""


def run_group(
    group: Group, work: Work, arguments: tuple[Any, ...], *, on_log: Log, watch: Callable[[], None] = lambda: None
) -> dict[str, float]:
    """``work(*arguments)`` in each rank of ``group``. Returns what rank 0 returns, if it is among them.

    ``watch`` is called all the while. When it raises, or a rank fails, all of the group end.

    Raises:
        RanksFailed: a rank died. A :class:`FusesearchError` of a rank is raised as it is.
    """
    from torch.multiprocessing.spawn import ProcessException, spawn

    messages = multiprocessing.get_context("spawn").SimpleQueue()
    context = spawn(_rank, (group, messages, work, arguments), group.count, join=False)
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
            watch()
        read()
    except ProcessException as error:
        read()
        if known := last.get("error"):
            raise known from None
        logger.warning("%s", error)
        reason = str(error).strip().splitlines()[-1]
        raise RanksFailed(f"rank {group.first + error.error_index} of {group.world} failed ({reason})") from None
    finally:
        for process in context.processes:
            process.kill()
    return last.get("figures", {})


def _rank(number: int, group: Group, messages: Any, work: Work, arguments: tuple[Any, ...]) -> None:
    end_with_parent()
    values = (group.first + number, number, group.world, group.count, group.address, group.port)
    os.environ |= dict(zip(RANK_VARIABLES, map(str, values), strict=True))
    if group.host != HOST and (found := interface(group.host)):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", found)  # which takes the host's name for its address, often 127.0.1.1
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


@cache
def _cpu_group() -> Any:
    import torch

    return torch.distributed.new_group(backend="gloo", timeout=timedelta(seconds=PATIENCE))


def free_port(address: str = HOST) -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def interface(address: str) -> str | None:
    """The network interface of this machine that has ``address``."""
    import psutil

    return next((name for name, known in psutil.net_if_addrs().items() if address in (one.address for one in known)), None)
