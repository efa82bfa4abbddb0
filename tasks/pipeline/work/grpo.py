"""GRPO: from instances and a checkpoint to a better checkpoint."""

from __future__ import annotations

from functools import partial
from typing import Any

from tasks.pipeline.node import Job
from tasks.pipeline.places import SNAPSHOTS
from tasks.pipeline.work.checkpoints import TrainingLog, checkpoint_of, publish_trained


def reinforce(job: Job) -> dict[str, Any]:
    """Reinforce the model that ``grpo.start`` names on the rl split."""
    from tasks.search.snapshots import SnapshotStore, instance_snapshot
    from tasks.training.grpo import train_grpo

    snapshot = partial(instance_snapshot, SnapshotStore(SNAPSHOTS), job.places["mine.repos"])
    instances = job.places["split.rl"]
    checkpoint = checkpoint_of(job.params.grpo.start, job.params, job.places)
    figures = train_grpo(job.params, job.params.grpo, instances, checkpoint, snapshot, job.scratch, on_log=TrainingLog(job))
    publish_trained(job)
    return figures
