"""GRPO: from instances and a checkpoint to a better checkpoint."""

from __future__ import annotations

from functools import partial
from typing import Any

from tasks.checkpoints import TrainingLog, checkpoint_of, publish_trained
from tasks.running.node import Job
from tasks.running.places import SNAPSHOTS


def reinforce(job: Job) -> dict[str, Any]:
    """Reinforce the model that ``grpo.start`` names on the rl split."""
    from fusesearch.search.snapshots import SnapshotStore, instance_snapshot
    from fusesearch.training.grpo import train_grpo

    snapshot = partial(instance_snapshot, SnapshotStore(SNAPSHOTS), job.places["mine.repos"])
    instances = job.places["split.rl"]
    checkpoint = checkpoint_of(job.params.grpo.start, job.params, job.places)
    figures = train_grpo(job.params, job.params.grpo, instances, checkpoint, snapshot, job.scratch, on_log=TrainingLog(job))
    publish_trained(job)
    return figures
