"""Ranks, as torch.distributed calls processes that train together on this machine; torchrun starts them."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from fusesearch.core import child
from fusesearch.core.config import Compute
from fusesearch.core.cores import cores
from fusesearch.core.errors import AGAIN, ConfigError, FusesearchError, InfrastructureError

T = TypeVar("T")
Log = Callable[[dict[str, float]], None]
Work = Callable[..., dict[str, float]]
"""Trains and returns figures. Takes ``on_log``, which rank 0 calls for each logged step. A function of a module."""

PATIENCE = 24 * 3600
"""Seconds that ranks wait for one another: rank 0 makes rollouts meanwhile. One that dies ends all at once."""
ROW = "row: "


def rank() -> int:
    """The number of this process among those that train together; 0 also for one that trains alone."""
    return int(os.environ.get("RANK", "0"))


def world_size() -> int:
    """How many processes train together."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def without_ranks(variables: Mapping[str, str]) -> dict[str, str]:
    """Environment variables for a program that is no rank, vLLM's for example, which would join the others."""
    own = ("RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    return {key: value for key, value in variables.items() if key not in own and not key.startswith("TORCHELASTIC_")}


def train_in_ranks(compute: Compute, work: Work, *arguments: Any, on_log: Log) -> dict[str, float]:
    """``work(*arguments)`` in ``compute.ranks`` processes of torchrun. Returns what rank 0 returns.

    Raises:
        ConfigError: the machine has fewer GPUs, or without one fewer cores, than ranks.
        InfrastructureError: a rank died. A :class:`FusesearchError` of a rank is raised as it is.
    """
    import torch

    gpus = torch.cuda.device_count()
    if (gpus or cores()) < compute.ranks:
        raise ConfigError(
            f"compute.ranks asks for {compute.ranks} {'GPUs' if gpus else 'cores, for want of a GPU'}: "
            f"this machine has {gpus or cores()}"
        )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "work").write_bytes(pickle.dumps((work, arguments)))
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={compute.ranks}"]
        paths = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        process = child.start([*torchrun, "-m", __name__, name], env=paths, stdout=subprocess.PIPE, text=True)
        try:
            for line in process.stdout or ():
                if line.startswith(ROW):
                    on_log(json.loads(line.removeprefix(ROW)))
                else:
                    print(line, end="", flush=True)
            status = process.wait()
        finally:
            child.end(process, seconds=20)
        if (failed := folder / "error").exists():
            raise pickle.loads(failed.read_bytes())  # noqa: S301 - a rank of ours wrote it
        if status:
            raise InfrastructureError(f"one of {compute.ranks} ranks failed, see torchrun's lines above: {AGAIN}")
        return json.loads((folder / "figures").read_text(encoding="utf-8"))


def main(name: str) -> None:
    """What torchrun runs in each rank: the work in the folder ``name``."""
    folder = Path(name)
    threading.Thread(target=_follow, args=[os.getppid()], daemon=True).start()
    work, arguments = pickle.loads((folder / "work").read_bytes())  # noqa: S301 - train_in_ranks wrote it
    try:
        figures = work(*arguments, on_log=lambda row: print(f"{ROW}{json.dumps(row)}", flush=True))
    except FusesearchError as error:
        (folder / "error").write_bytes(pickle.dumps(error))
        sys.exit(1)
    if not rank():
        (folder / "figures").write_text(json.dumps(figures), encoding="utf-8")


def _follow(parent: int) -> None:
    """End this process with torchrun, which puts each rank into a session of its own."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def from_first_rank(make: Callable[[], T] | None) -> T:
    """Broadcast the result of rank 0; the others pass None. They wait on the CPU: NCCL would take time of GPUs that sample."""
    import torch

    made = [make() if make else None]
    if world_size() > 1:
        torch.distributed.broadcast_object_list(made, src=0, group=_cpu_group())
    return made[0]  # type: ignore[return-value]


@cache
def _cpu_group() -> Any:
    import torch

    return torch.distributed.new_group(backend="gloo", timeout=timedelta(seconds=PATIENCE))


if __name__ == "__main__":
    main(sys.argv[1])
