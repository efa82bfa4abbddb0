"""Reinforcement learning from the sft checkpoint; with ``from-base`` as argument, from the base model."""

import sys
from typing import Any

from prefect import flow, task

from flows.failures import watched
from flows.stage import RETRIED, Stage, publish_checkpoint, run_node, stage
from tasks.pipeline.node import Node
from tasks.pipeline.stages import training


@task(name="reinforce", **RETRIED)
def reinforce(current: Stage) -> dict[str, Any]:
    """TRL's GRPOTrainer over rollouts of the project's loop."""
    train = training.grpo if current.name == "grpo" else training.grpo_from_base
    return train(current.params, current.places, current.scratch, current.progress, current.live.log)


def _train(name: str, node: Node | None) -> dict[str, Any]:
    with stage(name, node) as current:
        current.metrics = reinforce(current)
        publish_checkpoint(current)
    return current.metrics


@flow(name="grpo", **watched("grpo"))
def grpo_flow(node: Node | None = None) -> dict[str, Any]:
    """The rl split and the sft checkpoint to ``artifacts/grpo``."""
    return _train("grpo", node)


@flow(name="grpo-from-base", **watched("grpo_from_base"))
def grpo_from_base_flow(node: Node | None = None) -> dict[str, Any]:
    """The rl split and the base checkpoint to ``artifacts/grpo_from_base``."""
    return _train("grpo_from_base", node)


if __name__ == "__main__":
    if sys.argv[1:2] == ["from-base"]:
        run_node("grpo_from_base", grpo_from_base_flow, sys.argv[2:])
    run_node("grpo", grpo_flow)
