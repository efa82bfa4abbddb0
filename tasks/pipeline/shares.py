"""Shares of a stage's episodes, to be run in other processes or on other machines.

A share is some instances of one journal. Whoever runs it needs the same working tree (repositories, splits, checkpoints); it
gives back the rows that a single process would have written down itself. The stage then goes on from its journal as always, so
that its artifacts are made by the same code whether or not there were shares.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tasks.core.config import Params
from tasks.core.storage import Journal, read_instances, silent
from tasks.pipeline.places import Places

Row = dict[str, Any]
"""A line of a journal: ``key`` and ``trajectory``."""


@dataclass(frozen=True)
class Share:
    """Instances to run: the teacher's candidates on them, or the episodes of ``arm``. ``journal`` is where the rows belong."""

    stage: str
    arm: str
    journal: str
    instances: tuple[str, ...]

    @property
    def name(self) -> str:
        """What people see of it."""
        return f"{self.arm or self.stage}: {len(self.instances)} instances from {self.instances[0]}"


def shares_of(stage: str, params: Params, places: Places, scratch: Path, count: int) -> list[Share]:
    """What the journals of ``stage`` lack, each divided into at most ``count`` shares of neighbouring instances.

    Neighbours are often of one repository, whose snapshot and results of tools they share.
    """
    return [
        Share(stage, arm, journal, part)
        for arm, journal, keys in _wanted(stage, params, places)
        for part in _divided(_lacking(scratch / journal, keys), count)
    ]


def run_share(share: Share, params: Params, places: Places) -> list[Row]:
    """The rows of a share. What the infrastructure broke is not among them, and is left to the stage itself.

    Raises:
        InfrastructureError: over half of the teacher's candidates failed.
        ArtifactError: a checkpoint or a table is not on this machine.
    """
    run = _episodes if share.arm else _candidates
    with TemporaryDirectory(prefix="share-") as folder:
        run(share, params, places, Path(folder))
        with closing(Journal(Path(folder) / share.journal, key="key")) as journal:
            return [row for row in journal.rows.values() if row["trajectory"]["error"] is None]


def take_in(share: Share, rows: Iterable[Row], scratch: Path) -> int:
    """Add the rows of a share to the stage's journal; returns how many rows are in it."""
    with Journal(scratch / share.journal, key="key") as journal:
        for row in rows:
            journal.append(row)
        return len(journal)


def _candidates(share: Share, params: Params, places: Places, folder: Path) -> None:
    from tasks.pipeline.work.synthesis import make_candidates

    make_candidates(_chosen(share, read_instances(places["split.sft"])), params, places, folder, silent)


def _episodes(share: Share, params: Params, places: Places, folder: Path) -> None:
    from tasks.pipeline.work.evaluation import evaluate_arm, held_out

    evaluate_arm(share.arm, params, places, _chosen(share, held_out(params, places)), folder, silent)


def _chosen(share: Share, instances: Sequence[Any]) -> list[Any]:
    return [row for row in instances if row.instance_id in share.instances]


def _wanted(stage: str, params: Params, places: Places) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Arm, name of the journal, and the instance of each key that belongs there."""
    if stage == "synthesize":
        from tasks.pipeline.work.synthesis import JOURNAL
        from tasks.training.synthesis import draw

        candidates = draw(read_instances(places["split.sft"]), params.synthesize, params.seed)
        yield "", JOURNAL, {row.key: row.instance.instance_id for row in candidates}
        return
    from tasks.evaluation.harness import journal_key
    from tasks.pipeline.work.evaluation import held_out, journal_of, runs_of

    ids = [row.instance_id for row in held_out(params, places)]
    for arm in params.evaluate.arms:
        yield arm, journal_of(arm), {journal_key(name, run): name for name in ids for run in range(runs_of(arm, params))}


def _lacking(path: Path, keys: dict[str, str]) -> list[str]:
    """Instances with a key that the journal lacks, in their order."""
    with closing(Journal(path, key="key")) as journal:
        return list(dict.fromkeys(name for key, name in keys.items() if key not in journal))


def _divided(names: Sequence[str], count: int) -> Iterator[tuple[str, ...]]:
    """``names`` in at most ``count`` parts whose sizes differ by one at most."""
    waiting, parts = iter(names), min(count, len(names))
    for number in range(parts):
        yield tuple(islice(waiting, len(names) // parts + (number < len(names) % parts)))
