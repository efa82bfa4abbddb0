"""Synthesize: the teacher's candidate trajectories on the sft split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from fusesearch.core.config import Params
from fusesearch.core.schema import Instance, Trajectory
from fusesearch.core.storage import Journal, Progress, read_instances, silent, write_jsonl
from fusesearch.evaluation.environments import environment_named
from tasks.running.node import Job
from tasks.running.parts import Part
from tasks.running.places import SNAPSHOTS, Places

JOURNAL = "candidates.jsonl"


def synthesize_candidates(job: Job) -> dict[str, Any]:
    """Write the candidates; goes on from the journal in the job's scratch."""
    instances = _instances(job)
    trajectories = make_candidates(instances, job.params, job.places, job.scratch, job.progress)
    write_jsonl(job.output("candidates"), (trajectory.untimed() for trajectory in trajectories))
    calls = sum(len(turn.calls) for trajectory in trajectories for turn in trajectory.turns)
    return {
        "instances": len(instances),
        "candidates": len(trajectories),
        "errored": sum(trajectory.error is not None for trajectory in trajectories),
        "calls": calls,
    }


def _instances(job: Job) -> list[Instance]:
    return environment_named(job.params.agent.toolset).trainable(read_instances(job.places["split.sft"]))


def make_candidates(
    instances: Sequence[Instance], params: Params, places: Places, scratch: Path, progress: Progress
) -> list[Trajectory]:
    """The teacher's trajectories on ``instances``, in their order; the journal stays in ``scratch``."""
    from fusesearch.code.kinds import is_code
    from fusesearch.localizers.presearch import pre_searched
    from fusesearch.search.snapshots import SnapshotStore, instance_snapshot
    from fusesearch.training.synthesis import draw, synthesize

    snapshot = partial(instance_snapshot, SnapshotStore(SNAPSHOTS), places["mine.repos"], needed=is_code)
    candidates = draw(pre_searched(instances, snapshot, params.agent), params.synthesize, params.seed)
    with Journal(scratch / JOURNAL, key="key") as journal:
        return synthesize(candidates, params, snapshot, journal, progress, scratch)


def lacking(job: Job) -> Iterator[Part]:
    """Instances that lack a candidate; none if vLLM serves the teacher: the stage's servers take all episodes side by side."""
    from fusesearch.training.synthesis import draw

    if not job.params.teacher.model or job.params.teacher.base_url:
        candidates = draw(_instances(job), job.params.synthesize, job.params.seed)
        with closing(Journal(job.scratch / JOURNAL, key="key")) as rows:
            yield Part(JOURNAL, tuple(dict.fromkeys(row.instance.instance_id for row in candidates if row.key not in rows)))


def do_part(job: Job, part: Part) -> None:
    """Make the candidates of instances."""
    chosen = [row for row in _instances(job) if row.instance_id in part.keys]
    make_candidates(chosen, job.params, job.places, job.scratch, silent)
