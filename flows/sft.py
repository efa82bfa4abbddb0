"""Supervised fine-tuning of the base model."""

from typing import Any

from prefect import flow, task

from flows.failures import watched
from flows.stage import RETRIED, Stage, publish_checkpoint, run_node, stage
from tasks.pipeline.node import Node
from tasks.pipeline.stages.training import sft


@task(name="fine-tune", **RETRIED)
def fine_tune(current: Stage) -> dict[str, Any]:
    """TRL's SFTTrainer on the selected trajectories."""
    return sft(current.params, current.places, current.scratch, current.progress, current.live.log)


@flow(name="sft", **watched("sft"))
def sft_flow(node: Node | None = None) -> dict[str, Any]:
    """``data/selected`` and the base checkpoint to ``artifacts/sft``."""
    with stage("sft", node) as current:
        current.metrics = fine_tune(current)
        publish_checkpoint(current)
    return current.metrics


if __name__ == "__main__":
    run_node("sft", sft_flow)
