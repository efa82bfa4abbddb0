"""GRPO: from instances and a checkpoint to a better checkpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from fusesearch.code.kinds import is_code
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Instance
from fusesearch.core.storage import read_instances, read_jsonl
from fusesearch.evaluation.environments import environment_named
from fusesearch.evaluation.harness import evaluate
from fusesearch.evaluation.metrics import METRICS, mean_of
from fusesearch.evaluation.statistics import difference
from fusesearch.localizers.base import Setup
from fusesearch.localizers.registry import make_localizer
from fusesearch.search.repository import Repository
from fusesearch.search.snapshots import SnapshotStore, instance_snapshot
from tasks.checkpoints import TrainingLog, checkpoint_of, publish_trained
from tasks.running.node import Job
from tasks.running.places import CACHES, SNAPSHOTS


def reinforce(job: Job) -> dict[str, Any]:
    """Reinforce the model that ``grpo.start`` names on the rl split. Raises :class:`DataError` if it is below the floor."""
    params, instances, repos, log = job.params, job.places["split.rl"], job.places["mine.repos"], TrainingLog(job)
    checkpoint = checkpoint_of(params.grpo.start, params, job.places)
    if params.grpo.engine == "verl":
        from fusesearch.training.engines.verl_training import train_verl

        figures = train_verl(params, params.grpo, instances, checkpoint, repos, SNAPSHOTS, job.scratch, on_log=log)
    else:
        from fusesearch.training.grpo import train_grpo

        snapshot = partial(instance_snapshot, SnapshotStore(SNAPSHOTS), repos, needed=is_code)

        def logged(row: dict[str, float]) -> None:
            log(row)
            if not row["step"] and params.grpo.validation.floor:
                check_floor(job, snapshot)

        figures = train_grpo(params, params.grpo, instances, checkpoint, snapshot, job.scratch, on_log=logged)
    publish_trained(job)
    return figures


def check_floor(job: Job, snapshot: Callable[[Instance], Repository]) -> None:
    """Raises :class:`DataError` where the first validation is below ``floor`` by more than the interval of their difference."""
    from fusesearch.training.validation import FILE, Validated

    params, floor, f1 = job.params, job.params.grpo.validation.floor, METRICS["f1_macro"].statistic
    own = next(read_jsonl(job.scratch / FILE, Validated)).scores
    ids = {score.instance_id for score in own}
    held_out = [row for row in read_instances(job.places["split.rl"]) if row.instance_id in ids]
    localizer = make_localizer(floor, Setup(agent=params.agent, tools=params.tools, caches=CACHES))
    scorer = environment_named(params.agent.toolset).score
    its = asyncio.run(evaluate(localizer, held_out, snapshot, journal=job.scratch / "floor.jsonl", scorer=scorer)).scores
    found = difference({0: own}, {0: its}, f1)
    if found and found.low is not None and found.high is not None and found.high < 0:
        first, second = (100 * (mean_of(scores, "f1") or 0.0) for scores in (own, its))
        raise DataError(
            f"before RL the student has F1 {first:.1f} on {len(held_out)} held-out fixes, {floor} has {second:.1f} (difference "
            f"{100 * found.estimate:.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}]). RL adds a few points, so give SFT "
            f"more or better trajectories (teacher, synthesize, select, sft in params.yaml), or use {floor} as it is; "
            "grpo.validation.floor: '' trains all the same"
        )
