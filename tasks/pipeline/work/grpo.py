"""GRPO: from instances and a checkpoint to a better checkpoint."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from tasks.core.config import Grpo
from tasks.pipeline.node import Job
from tasks.pipeline.places import SNAPSHOTS
from tasks.pipeline.work.checkpoints import TrainingLog, publish_trained


def reinforce(job: Job) -> dict[str, Any]:
    """Reinforce the sft checkpoint on the rl split."""
    return _train(job, job.params.grpo, job.places["sft.checkpoint"])


def reinforce_base(job: Job) -> dict[str, Any]:
    """Reinforce the base model without SFT."""
    return _train(job, job.params.grpo_from_base, Path(job.params.model.base))


def _train(job: Job, section: Grpo, checkpoint: Path) -> dict[str, Any]:
    from tasks.search.snapshots import SnapshotStore, instance_snapshot
    from tasks.training.grpo import train_grpo

    snapshot = partial(instance_snapshot, SnapshotStore(SNAPSHOTS), job.places["mine.repos"])
    instances = job.places["split.rl"]
    figures = train_grpo(job.params, section, instances, checkpoint, snapshot, job.scratch, on_log=TrainingLog(job))
    publish_trained(job)
    return figures
