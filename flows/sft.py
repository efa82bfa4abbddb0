"""Supervised fine-tuning of the base model."""

from typing import Any

from prefect import flow, task

from flows.stage import RETRIED, Stage, log_curve, publish_checkpoint, run_stage, stage
from tasks.stages.training import sft


@task(name="fine-tune", **RETRIED)
def fine_tune(current: Stage) -> dict[str, Any]:
    """TRL's SFTTrainer on the selected trajectories."""
    return sft(current.params, current.scratch, current.progress, log_curve(current))


@flow(name="sft")
def sft_flow() -> dict[str, Any]:
    """``data/selected`` and the base checkpoint to ``artifacts/sft``."""
    with stage("sft") as current:
        current.metrics = fine_tune(current)
        publish_checkpoint(current)
    return current.metrics


if __name__ == "__main__":
    run_stage(sft_flow)
