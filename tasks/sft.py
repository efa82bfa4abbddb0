"""SFT: from selected trajectories and the base model to a checkpoint."""

from __future__ import annotations

from typing import Any

from tasks.checkpoints import TrainingLog, publish_trained
from tasks.running.node import Job


def fine_tune(job: Job) -> dict[str, Any]:
    """Fine-tune the base model on the selected trajectories."""
    from fusesearch.training.sft import train_sft

    figures = train_sft(job.params, job.places["select.trajectories"], job.scratch, on_log=TrainingLog(job))
    publish_trained(job)
    return figures
