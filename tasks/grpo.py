"""GRPO: from instances and a checkpoint to a better checkpoint."""

from __future__ import annotations

from functools import partial
from typing import Any

from fusesearch.code.kinds import is_code
from fusesearch.search.snapshots import SnapshotStore, instance_snapshot
from tasks.checkpoints import TrainingLog, checkpoint_of, publish_trained
from tasks.running.node import Job
from tasks.running.places import CACHES, SNAPSHOTS


def reinforce(job: Job) -> dict[str, Any]:
    """Reinforce the model that ``grpo.start`` names on the rl split. Raises :class:`DataError` if a gate before RL is closed."""
    params, instances, repos, log = job.params, job.places["split.rl"], job.places["mine.repos"], TrainingLog(job)
    checkpoint = checkpoint_of(params.grpo.start, params, job.places)
    if params.grpo.engine == "verl":
        from fusesearch.training.engines.verl_training import train_verl

        figures = train_verl(params, params.grpo, instances, checkpoint, repos, SNAPSHOTS, job.scratch, on_log=log)
    else:
        from fusesearch.training.grpo import train_grpo

        snapshot = partial(instance_snapshot, SnapshotStore(SNAPSHOTS), repos, needed=is_code)
        figures = train_grpo(params, params.grpo, instances, checkpoint, snapshot, job.scratch, CACHES, on_log=log)
    publish_trained(job)
    return figures
