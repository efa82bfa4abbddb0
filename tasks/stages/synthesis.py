"""Synthesize: the teacher's candidate trajectories on the sft split."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from tasks.core import layout
from tasks.core.config import Params
from tasks.core.places import Places
from tasks.core.progress import Progress
from tasks.core.storage import Journal, read_instances, write_jsonl


def synthesize_candidates(params: Params, places: Places, scratch: Path, progress: Progress) -> dict[str, Any]:
    """Write ``data/synthesized/trajectories.jsonl``; goes on from the journal in ``scratch``."""
    from tasks.search.snapshots import SnapshotStore, instance_snapshot
    from tasks.training.synthesis import draw, synthesize

    instances = read_instances(places.split("sft"))
    candidates = draw(instances, params.synthesize, params.seed)
    snapshot = partial(instance_snapshot, SnapshotStore(layout.SNAPSHOTS), places.repos)
    with Journal(scratch / "candidates.jsonl", key="key") as journal:
        trajectories = synthesize(candidates, params, snapshot, journal, progress)
    write_jsonl(places.candidates, trajectories)
    calls = sum(len(turn.calls) for trajectory in trajectories for turn in trajectory.turns)
    return {
        "instances": len(instances),
        "candidates": len(trajectories),
        "errored": sum(trajectory.error is not None for trajectory in trajectories),
        "calls": calls,
    }
