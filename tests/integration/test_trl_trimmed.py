"""The trimmed GRPO step against TRL's own: the same rollouts, the same weights after a step."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from fusesearch.training.trainer import load_student
from fusesearch.training.trl_trimmed import TrimmedGRPOTrainer
from tests.fakes.tiny_student import tiny_student

SEQUENCES = [([3, 4, 5], [6, 7, 8, 9]), ([3, 4, 5], [6, 9]), ([8, 7], [5, 4, 3]), ([8, 7], [5, 9, 9, 9, 4, 3])]


def rollouts(prompts: list[Any], trainer: Any) -> dict[str, list[Any]]:
    prompt, completion = ([list(ids) for ids in column] for column in zip(*SEQUENCES, strict=True))
    return {"prompt_ids": prompt, "completion_ids": completion, "logprobs": [[-1.0] * len(ids) for ids in completion]}


@cache
def weights_after_a_step(trainer_class: type, rewards: tuple[float, ...], kl: float) -> torch.Tensor:
    with TemporaryDirectory() as folder:
        return _trained(trainer_class, Path(folder), list(rewards), kl)


def _trained(trainer_class: type, out: Path, rewards: list[float], kl: float) -> torch.Tensor:
    model, tokenizer = load_student(tiny_student(out / "base", ["def prime(n):\n    return n % 2\n"] * 5, 300))
    arguments = GRPOConfig(
        output_dir=str(out), max_steps=1, per_device_train_batch_size=4, num_generations=2, beta=kl, loss_type="grpo",
        learning_rate=0.1, lr_scheduler_type="constant", optim="sgd", max_grad_norm=0.0, use_cpu=True, bf16=False,
        gradient_checkpointing=False, report_to=[], save_strategy="no", seed=0,
    )  # fmt: skip
    trainer = trainer_class(
        model=model,
        args=arguments,
        reward_funcs=[lambda **_: rewards],
        rollout_func=rollouts,
        train_dataset=Dataset.from_list([{"prompt": "def"}, {"prompt": "return"}]),
        processing_class=tokenizer,
    )
    trainer.train()
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


@pytest.mark.parametrize(
    ("rewards", "kl"), [((1.0, 0.0, 0.5, 0.5), 0.0), ((1.0, 0.0, 0.5, 0.5), 0.1), ((0.3, 0.3, 0.5, 0.5), 0.0)]
)
def test_leaving_out_what_has_no_influence_changes_no_weight(rewards: tuple[float, ...], kl: float) -> None:
    ours = weights_after_a_step(TrimmedGRPOTrainer, rewards, kl)
    theirs = weights_after_a_step(GRPOTrainer, rewards, kl)
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


def test_a_step_moves_the_weights_only_where_a_group_differs() -> None:
    still = weights_after_a_step(TrimmedGRPOTrainer, (0.3, 0.3, 0.5, 0.5), 0.0)
    moved = weights_after_a_step(TrimmedGRPOTrainer, (1.0, 0.0, 0.5, 0.5), 0.0)
    assert (still - moved).abs().max() > 1e-4
