"""A processor as a platform of veRL 0.9.1, and transformers as its rollout engine: its own trainer then runs without a GPU.

veRL imports this where ``VERL_USE_EXTERNAL_MODULES`` names it (``tests/fakes/verl_environment.py``), and takes both from its own
registries: ``PlatformRegistry``, ``RolloutReplicaRegistry`` and the table of adapters in ``verl.workers.rollout.base``. The rest
is veRL's: trainer, transfer queue, agent loops, FSDP2 workers on gloo, loss, optimizer, checkpoints, logger.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import torch
from verl.plugin.platform.platform_base import PlatformBase
from verl.plugin.platform.platform_manager import PlatformRegistry, set_platform

NAME = "transformers"


class _Device(SimpleNamespace):
    """What ``torch.cuda`` is for CUDA: memory is not counted, nothing is asynchronous."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(torch.cpu, name, lambda *args, **options: 0)


@PlatformRegistry.register(platform="cpu")
class Processor(PlatformBase):
    """One device; Ray counts it as a GPU, because veRL asks for GPUs by that name."""

    device_name = property(lambda self: "cpu")
    vendor_name = property(lambda self: "cpu")
    device_module = property(lambda self: _Device(mem_get_info=lambda *_: (2**30, 2**30), get_device_name=lambda *_: "CPU"))

    def is_available(self) -> bool:
        return True

    def current_device(self) -> Any:
        return "cpu"

    def device_count(self) -> int:
        return 1

    def set_device(self, device_index: int) -> None: ...

    def synchronize(self, device_index: int | None = None) -> None: ...

    def manual_seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    manual_seed_all = manual_seed

    def set_allocator_settings(self, settings: str) -> None: ...

    def empty_cache(self) -> None: ...

    def get_device_capability(self, device_index: int = 0) -> tuple[int | None, int | None]:
        return None, None

    def communication_backend_name(self) -> str:
        return "gloo"

    def visible_devices_envvar(self) -> str:
        return "CUDA_VISIBLE_DEVICES"

    @contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:
        yield

    def profiler_start(self) -> None: ...

    def profiler_stop(self) -> None: ...

    def ray_resource_name(self) -> str:
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        return ["RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"]

    def is_ipc_supported(self) -> bool:
        return False

    def cudart(self) -> Any:
        return None


set_platform(Processor())
_init = torch.distributed.init_process_group


def _init_process_group(backend: str | None = None, **options: Any) -> None:
    """``verl/utils/distributed.py:89`` names a backend for the processor and one for the device, here twice the same."""
    _init("gloo" if backend == "cpu:gloo,cpu:gloo" else backend, **options)


torch.distributed.init_process_group = _init_process_group
torch.Tensor.pin_memory = lambda self, *_: self  # the reference is offloaded to pinned memory (workers/engine/fsdp)

from verl.workers.rollout import base  # noqa: E402 - they ask for the platform
from verl.workers.rollout.replica import RolloutReplicaRegistry  # noqa: E402


def _replica() -> Any:
    from verl_cpu_rollout import Replica

    return Replica


RolloutReplicaRegistry.register(NAME, _replica)
base._ROLLOUT_REGISTRY[(NAME, "async")] = "verl_cpu_rollout.Adapter"
