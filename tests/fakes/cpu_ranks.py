"""What ranks run in tests: several trainings in turn, with rewards that differ, and on CPUs sharded as on GPUs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from accelerate import Accelerator, DistributedType, PartialState
from accelerate.utils import is_peft_model
from torch.distributed.fsdp import FSDPModule
from transformers import AutoModelForCausalLM, training_args

from fusesearch.training import grpo, serving, sft, trainer, trl_trimmed
from fusesearch.training.ranks import rank
from fusesearch.training.trainer import run_training, trainer_arguments

Part = tuple[Callable[..., dict[str, float]], tuple[Any, ...], bool]
"""A training, its arguments, and whether it is sharded."""


def in_turn(parts: list[Part], *, on_log: Callable[[dict[str, float]], None]) -> dict[str, float]:
    """Run ``parts``; the figures are those of the last."""
    serving.ENVIRONMENT = Path(os.environ.get("FAKE_VLLM", serving.ENVIRONMENT))
    figures: dict[str, float] = {}
    for work, arguments, is_sharded in parts:
        with patch.object(grpo, "rollout_reward", _uneven), _sharding() if is_sharded else patch.dict(os.environ):
            figures = work(*arguments, on_log=on_log)
    return figures


def die(number: int, how: Callable[[], None], *, on_log: Callable[[dict[str, float]], None]) -> dict[str, float]:
    """Rank ``number`` calls ``how``; the others wait for it."""
    PartialState(cpu=True)
    if rank() == number:
        how()
    PartialState().wait_for_everyone()
    return {}


def _uneven(score: list[float | None], **_: Any) -> list[float | None]:
    """The first two rewards of all ranks are alike, the others alternate."""
    first = rank() * len(score)
    return [float(place < 2 or place % 2) for place in range(first, first + len(score))]


def _by_the_first(load: Callable[..., Any]) -> Callable[..., Any]:
    def loaded(*given: Any, **options: Any) -> Any:
        assert not rank(), "another rank than the first loads all weights"
        return load(*given, **options)

    return loaded


def _checked(trainer: Any, out: Path) -> Any:
    if reference := getattr(trainer, "ref_model", None):
        assert all(isinstance(layer, FSDPModule) for layer in reference.model.layers)
    return run_training(trainer, out)


@contextmanager
def _few_gradients(accelerator: Any, model: Any) -> Iterator[None]:
    assert is_peft_model(model), "each rank would add up the gradients of all weights"
    model.set_requires_gradient_sync(False)
    yield
    model.set_requires_gradient_sync(True)


@contextmanager
def _sharding() -> Iterator[None]:
    """accelerate 1.15 shards on GPUs only: it takes the CPUs for GPUs.

    Ranks that would hold a whole reference or whole gradients, or load the weights that another loads, fail.
    """

    def arguments(*given: Any) -> dict[str, Any]:
        return {**trainer_arguments(*given), "use_cpu": False}

    with (
        patch.object(PartialState, "_prepare_backend", lambda *_: ("gloo", DistributedType.MULTI_GPU)),
        patch.dict(os.environ, ACCELERATE_TORCH_DEVICE="cpu"),
        patch.object(training_args, "is_torch_bf16_gpu_available", lambda: True),
        patch.object(trainer, "is_sharded", lambda: True),
        patch.object(trl_trimmed, "is_sharded", lambda: True),
        patch.object(grpo, "is_sharded", lambda: True),
        patch.object(AutoModelForCausalLM, "from_pretrained", _by_the_first(AutoModelForCausalLM.from_pretrained)),
        patch.object(sft, "trainer_arguments", arguments),
        patch.object(grpo, "trainer_arguments", arguments),
        patch.object(grpo, "run_training", _checked),
        patch.object(Accelerator, "no_sync", _few_gradients),
    ):
        yield
