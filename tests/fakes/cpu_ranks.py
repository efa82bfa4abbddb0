"""What ranks run in tests: several trainings in turn, with rewards that differ, and on CPUs sharded as on GPUs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch
from accelerate import Accelerator, DistributedType, FullyShardedDataParallelPlugin, PartialState
from accelerate.utils import is_peft_model
from accelerate.utils.fsdp_utils import fsdp2_prepare_model
from safetensors.torch import load_file
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule
from transformers import AutoConfig, AutoModelForCausalLM, training_args
from trl.trainer.utils import add_fused_lm_head

from fusesearch.training import grpo, serving, sft, trainer, trl_trimmed
from fusesearch.training.architectures import CONFIGS
from fusesearch.training.ranks import rank, world_size
from fusesearch.training.trainer import run_training, trainer_arguments
from fusesearch.training.weights import write_share
from tasks.rehearsal import small

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


def gradients(experts: bool, folder: Path, *, on_log: Callable[[dict[str, float]], None]) -> dict[str, float]:
    """How far FSDP2's gradients are from one process's, beside the largest of a parameter, and its weights after a step of AdamW.

    The ranks write those weights into ``folder``, which rank 0 reads; ``smallest`` is the share of the smallest file.
    Wrapped as accelerate wraps it, with TRL's fused head, two passes without gradients and two micro-batches before.
    """
    PartialState(cpu=True)
    plain, model = _decoder(experts), _decoder(experts)
    plugin = FullyShardedDataParallelPlugin(
        fsdp_version=2, auto_wrap_policy="transformer_based_wrap", reshard_after_forward=True,
        state_dict_type="SHARDED_STATE_DICT", cpu_ram_efficient_loading=False,
    )  # fmt: skip
    mesh = init_device_mesh("cpu", (world_size(),))
    accelerator = SimpleNamespace(
        state=SimpleNamespace(fsdp_plugin=plugin), torch_device_mesh={("x",): mesh}, mixed_precision="no",
        parallelism_config=SimpleNamespace(fsdp_dim_names=("x",)), is_main_process=not rank(), device=torch.device("cpu"),
    )  # fmt: skip
    model = fsdp2_prepare_model(accelerator, model)
    rows = torch.randint(0, 512, (2 * world_size(), 24), generator=torch.Generator().manual_seed(1))

    def loss(of: Any, row: torch.Tensor) -> torch.Tensor:
        labels = row.clone()
        labels[:8] = -100
        return -of(input_ids=row[None], labels=labels[None], fused_lm_head=True).log_probs.mean()

    own = rows[2 * rank() : 2 * rank() + 2]
    with torch.no_grad():
        before = [abs(float(loss(model, row) - loss(plain, row))) for row in own]
    for row in own:
        (loss(model, row) / len(own)).backward()
    for row in rows:
        (loss(plain, row) / len(rows)).backward()
    same = dict(plain.named_parameters())
    apart = [
        float((found.grad.full_tensor() - same[name].grad).abs().max() / same[name].grad.abs().max())
        for name, found in model.named_parameters()
    ]
    for of in (model, plain):
        torch.optim.AdamW(of.parameters(), lr=1e-3).step()
    write_share(model, torch.float32, None if rank() else folder)
    if rank():
        return {}
    files = list(folder.glob("*.safetensors"))
    whole = {name: value for file in files for name, value in load_file(file).items()}
    plain.config.save_pretrained(folder)
    read = AutoModelForCausalLM.from_pretrained(folder).state_dict()
    state, sizes = plain.state_dict(), [file.stat().st_size for file in files]
    assert whole.keys() == state.keys()
    weights = [float((other[name] - value).abs().max()) for name, value in state.items() for other in (whole, read)]
    smallest = min(sizes) / sum(sizes)
    return {"loss": max(before), "gradients": max(apart), "weights": max(weights), "smallest": smallest, "files": len(files)}


def _decoder(experts: bool) -> Any:
    """A small decoder with its activations recomputed; untied, and with experts or dense."""
    base = "Qwen/Qwen3-30B-A3B-Instruct-2507" if experts else "Qwen/Qwen3-8B"
    config = small(CONFIGS[base], 512)
    torch.manual_seed(0)
    model: Any = AutoModelForCausalLM.from_config(AutoConfig.for_model(**config))
    add_fused_lm_head(model, temperature=0.7, outputs=("log_probs", "entropy"))
    model.gradient_checkpointing_enable()
    return model.train()


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
