"""Training in the ranks that ``compute`` asks for: on this machine, and on others of a Ray cluster that share its files."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from fusesearch.core.cluster import cluster_address, worker_options
from fusesearch.core.config import Compute
from fusesearch.core.cores import cores
from fusesearch.core.errors import AGAIN, ConfigError, FusesearchError, InfrastructureError
from fusesearch.training.ranks import HOST, Group, Log, RanksFailed, Work, free_port, run_group

START_SECONDS = 120.0
"""How long Ray may take to start a process on a machine whose GPUs are free."""
END_SECONDS = 20.0
"""Seconds to wait for the other machines' errors after a rank has failed."""


def train_in_ranks(compute: Compute, work: Work, *arguments: Any, on_log: Log, shared: Path = Path()) -> dict[str, float]:
    """``work(*arguments)`` in this process, or in ``compute.ranks`` processes that train together. Returns what rank 0 returns.

    The first ranks are on this machine; all machines see the folder ``shared``. When a rank fails, all end.

    Raises:
        ConfigError: a machine has fewer GPUs, or without one fewer cores, than ranks; the others cannot be used.
        InfrastructureError: a rank died, or a machine was lost.
    """
    if compute.ranks == 1:
        return work(*arguments, on_log=on_log)
    import torch

    gpus, share = torch.cuda.device_count(), compute.ranks // compute.machines
    if (gpus or cores()) < share:
        raise ConfigError(
            f"compute.ranks asks for {share} {'GPUs' if gpus else 'cores, for want of a GPU'}: this machine has {gpus or cores()}"
        )
    with other_machines(compute.machines - 1, share, "GPU" if gpus else "CPU", shared) as others:
        port = free_port(others.address)
        own, *rest = (
            Group(number * share, share, compute.ranks, others.address, port, host)
            for number, host in enumerate([others.address, *others.hosts])
        )
        others.start(rest, work, arguments)
        try:
            return run_group(own, work, arguments, on_log=on_log, watch=others.check)
        except RanksFailed as error:
            raise InfrastructureError(f"{'; '.join(dict.fromkeys([str(error), *others.failures()]))}: {AGAIN}") from None


class Machine:
    """What runs on another machine, as an actor of Ray."""

    def enter(self, root: str, marker: str) -> None:
        """Work in the folder ``root``. Raises :class:`ConfigError` if it lacks the file ``marker``."""
        if not Path(root, marker).is_file():
            raise ConfigError(
                f"{socket.gethostname()} does not see the files in {root}: machines that train together need the checkout on a "
                "file system that they share, at the same path"
            )
        os.chdir(root)

    def train(self, group: Group, work: Work, arguments: tuple[Any, ...]) -> None:
        """Run this machine's ranks to their end."""
        run_group(group, work, arguments, on_log=lambda row: None)


class Others:
    """The other machines, at ``hosts``. ``address`` is where they reach this one."""

    def __init__(self, address: str, machines: Sequence[tuple[str, Any]] = ()) -> None:
        self.address = address
        self.hosts = [host for host, _ in machines]
        self._machines = machines
        self._running: dict[Any, str] = {}

    def start(self, groups: Sequence[Group], work: Work, arguments: tuple[Any, ...]) -> None:
        """Start the ranks of each machine."""
        for (host, machine), group in zip(self._machines, groups, strict=True):
            self._running[machine.train.remote(group, work, arguments)] = host

    def check(self, wait: float = 0.0) -> None:
        """Raise what a machine has failed with, if one has; ``wait`` that many seconds for all to end."""
        if not self._running:
            return
        import ray
        from ray.exceptions import RayActorError, RayError

        done, _ = ray.wait(list(self._running), num_returns=len(self._running), timeout=wait)
        for training in done:
            host = self._running.pop(training)
            try:
                ray.get(training)
            except RayActorError:
                raise RanksFailed(f"the machine {host} was lost") from None
            except RayError as error:
                raise _known(error) or RanksFailed(f"the machine {host} failed ({_last_line(error)})") from None

    def failures(self) -> Iterator[str]:
        """How the others failed, now that a rank has. Raises the first that is more than the loss of a rank."""
        while self._running:
            left = len(self._running)
            try:
                self.check(wait=END_SECONDS)
            except RanksFailed as error:
                yield str(error)
            if len(self._running) == left:
                return


def _known(error: Exception) -> Exception | None:
    """What was raised on purpose on another machine."""
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, FusesearchError | RanksFailed) else None


def _last_line(error: Exception) -> str:
    return str(error).strip().splitlines()[-1].strip()[:200]


@contextmanager
def other_machines(count: int, share: int, unit: str, shared: Path) -> Iterator[Others]:
    """``count`` machines of the Ray cluster that ``FUSESEARCH_RAY`` names, with ``share`` GPUs or cores (``unit``) for each.

    A file in the folder ``shared`` shows whether they see this machine's files.

    Raises:
        ConfigError: this machine is in no such cluster, it has too few machines, or they do not see this one's files.
        InfrastructureError: the cluster does not answer, or a machine's GPUs are taken or its environment is another.
    """
    if not count:
        yield Others(HOST)
        return
    address = cluster_address()
    if not address or address == "local" or "://" in address:
        raise ConfigError(
            "compute.machines needs a Ray cluster that this machine is part of: `ray start --head` here, "
            "`ray start --address=HOST:6379` on the others, and FUSESEARCH_RAY=HOST:6379"
        )
    import ray
    from ray.exceptions import GetTimeoutError, RayError
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    try:
        ray.init(address=address, **worker_options())
    except (OSError, RuntimeError) as error:
        raise InfrastructureError(
            f"the Ray cluster at {address} cannot be joined: {' '.join(str(error).split())[:200]}"
        ) from None
    machines: list[tuple[str, Any]] = []
    try:
        own = ray.get_runtime_context().get_node_id()
        nodes = [
            node for node in ray.nodes() if node["Alive"] and node["NodeID"] != own and node["Resources"].get(unit, 0) >= share
        ]
        if len(nodes) < count:
            raise ConfigError(
                f"compute.machines asks for {count} more with {share} {unit}s each: the Ray cluster at {address} has {len(nodes)}"
            )
        needs = {"num_gpus": share, "num_cpus": 1} if unit == "GPU" else {"num_cpus": share}
        for node in sorted(nodes, key=lambda node: node["NodeManagerAddress"])[:count]:
            place = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            actor = ray.remote(Machine).options(scheduling_strategy=place, **needs).remote()
            machines.append((node["NodeManagerAddress"], actor))
        shared.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=shared.absolute(), prefix=".marker-") as marker:
            for host, actor in machines:
                try:
                    ray.get(actor.enter.remote(str(Path.cwd()), marker.name), timeout=START_SECONDS)
                except GetTimeoutError:
                    raise InfrastructureError(f"{host} has no {share} {unit}s free: end what runs there, then {AGAIN}") from None
                except RayError as error:
                    raise _known(error) or InfrastructureError(
                        f"{host} cannot train ({_last_line(error)}): it needs the same environment and checkout at the same path"
                    ) from None
        yield Others(ray.util.get_node_ip_address(), machines)
    finally:
        for _, actor in machines:
            ray.kill(actor)
        ray.shutdown()
