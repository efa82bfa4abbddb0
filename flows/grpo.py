"""Reinforcement learning from the sft checkpoint; with ``from-base`` as argument, from the base model."""

import sys
from typing import Any

from prefect import flow, task

from flows.stage import RETRIED, Stage, log_curve, publish_checkpoint, run_stage, stage
from tasks.stages import training


@task(name="reinforce", **RETRIED)
def reinforce(current: Stage) -> dict[str, Any]:
    """TRL's GRPOTrainer over rollouts of the project's loop."""
    train = training.grpo if current.name == "grpo" else training.grpo_from_base
    return train(current.params, current.scratch, current.progress, log_curve(current))


def _train(name: str) -> dict[str, Any]:
    with stage(name) as current:
        current.metrics = reinforce(current)
        publish_checkpoint(current)
    return current.metrics


@flow(name="grpo")
def grpo_flow() -> dict[str, Any]:
    """The rl split and the sft checkpoint to ``artifacts/grpo``."""
    return _train("grpo")


@flow(name="grpo-from-base")
def grpo_from_base_flow() -> dict[str, Any]:
    """The rl split and the base checkpoint to ``artifacts/grpo_from_base``."""
    return _train("grpo_from_base")


if __name__ == "__main__":
    run_stage(grpo_from_base_flow if sys.argv[1:] == ["from-base"] else grpo_flow)
