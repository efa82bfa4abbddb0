"""Training in several processes of one machine, which torch.distributed calls ranks; the stage starts them."""

from __future__ import annotations

import logging
import multiprocessing
import os
import socket
import threading
from collections.abc import Callable
from typing import Any

from tasks.core.cores import cores
from tasks.core.errors import AGAIN, ConfigError, FusesearchError, InfrastructureError

logger = logging.getLogger(__name__)

Work = Callable[..., dict[str, float]]
"""Trains and returns figures. Takes ``on_log``, which rank 0 calls for each logged step."""

HOST = "127.0.0.1"
RANK_VARIABLES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""Environment variables by which a rank knows itself and finds the others."""


def rank() -> int:
    """The number of this process among those that train together; 0 also for one that trains alone."""
    return int(os.environ.get("RANK", "0"))


def world_size() -> int:
    """How many processes train together."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def train_in_ranks(ranks: int, work: Work, *arguments: Any, on_log: Callable[[dict[str, float]], None]) -> dict[str, float]:
    """``work(*arguments)`` in this process, or in ``ranks`` processes that train together. Returns what rank 0 returns.

    When a rank fails, all end.

    Raises:
        ConfigError: the machine has fewer GPUs, or without one fewer cores, than ranks.
        InfrastructureError: a rank died.
    """
    if ranks == 1:
        return work(*arguments, on_log=on_log)
    import torch
    from torch.multiprocessing.spawn import ProcessException, spawn

    gpus = torch.cuda.device_count()
    if (gpus or cores()) < ranks:
        raise ConfigError(
            f"compute.ranks asks for {ranks} {'GPUs' if gpus else 'cores, for want of a GPU'}: this machine has {gpus or cores()}"
        )
    messages = multiprocessing.get_context("spawn").SimpleQueue()
    context = spawn(_rank, (ranks, free_port(), messages, work, arguments), ranks, join=False)
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
        raise InfrastructureError(f"rank {error.error_index} of {ranks} failed ({reason}): {AGAIN}") from None
    finally:
        for process in context.processes:
            process.kill()
    return last["figures"]


def _rank(number: int, ranks: int, port: int, messages: Any, work: Work, arguments: tuple[Any, ...]) -> None:
    end_with_parent()
    os.environ |= dict(zip(RANK_VARIABLES, map(str, (number, number, ranks, ranks, HOST, port)), strict=True))
    try:
        figures = work(*arguments, on_log=lambda row: messages.put(("row", row)))
    except FusesearchError as error:
        messages.put(("error", error))
        raise
    if number == 0:
        messages.put(("figures", figures))


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def end_with_parent() -> None:
    """End this process when the one that started it ends, even by SIGKILL."""
    parent = multiprocessing.parent_process()
    assert parent is not None  # noqa: S101 - runs in a child

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
