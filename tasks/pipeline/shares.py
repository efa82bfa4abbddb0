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
from tasks.pipeline.places import SNAPSHOTS, Places

Row = dict[str, Any]
"""A line of a journal: ``key`` and ``trajectory``."""


@dataclass(frozen=True)
class Share:
    """Instances to run: the teacher's candidates on them, or the episodes of ``cell``. ``journal`` is where the rows belong."""

    stage: str
    cell: str
    journal: str
    instances: tuple[str, ...]

    @property
    def name(self) -> str:
        """What people see of it."""
        return f"{self.cell or self.stage}: {len(self.instances)} instances from {self.instances[0]}"


def shares_of(stage: str, params: Params, places: Places, scratch: Path, count: int) -> list[Share]:
    """What the journals of ``stage`` lack, each divided into at most ``count`` shares of neighbouring instances.

    Neighbours are often of one repository, whose snapshot and results of tools they share.
    """
    return [
        Share(stage, cell, journal, part)
        for cell, journal, lacking in _lacking(stage, params, places, scratch)
        for part in _divided(lacking, count)
    ]


def run_share(share: Share, params: Params, places: Places) -> list[Row]:
    """The rows of a share. What the infrastructure broke is not among them, and is left to the stage itself.

    Raises:
        InfrastructureError: over half of the teacher's candidates failed.
        ArtifactError: a checkpoint or a table is not on this machine.
    """
    run = _episodes if share.cell else _candidates
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

    chosen = [row for row in read_instances(places["split.sft"]) if row.instance_id in share.instances]
    make_candidates(chosen, params, places, folder, silent)


def _episodes(share: Share, params: Params, places: Places, folder: Path) -> None:
    from tasks.pipeline.grid import opened
    from tasks.pipeline.work.evaluation import held_out_grid

    with opened(held_out_grid(params, places), folder, SNAPSHOTS) as grid:
        (cell,) = (row for row in grid.cells if row.name == share.cell)
        grid.episodes_into(folder / share.journal, cell, share.instances)


def _lacking(stage: str, params: Params, places: Places, scratch: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Cell, journal, and the instances whose rows it lacks, in their order."""
    if stage == "synthesize":
        from tasks.pipeline.work.synthesis import JOURNAL
        from tasks.training.synthesis import draw

        candidates = draw(read_instances(places["split.sft"]), params.synthesize, params.seed)
        with closing(Journal(scratch / JOURNAL, key="key")) as rows:
            lacking = dict.fromkeys(row.instance.instance_id for row in candidates if row.key not in rows)
        yield "", JOURNAL, list(lacking)
        return
    from tasks.evaluation import results
    from tasks.pipeline.grid import opened
    from tasks.pipeline.work.evaluation import held_out_grid

    with opened(held_out_grid(params, places), scratch, SNAPSHOTS, retry_errored=True) as grid:
        for cell in grid.cells:
            journal = results.cell_folder(Path(), cell) / results.JOURNAL
            yield cell.name, journal.as_posix(), grid.lacking(cell)


def _divided(names: Sequence[str], count: int) -> Iterator[tuple[str, ...]]:
    """``names`` in at most ``count`` parts whose sizes differ by one at most."""
    waiting, parts = iter(names), min(count, len(names))
    for number in range(parts):
        yield tuple(islice(waiting, len(names) // parts + (number < len(names) % parts)))
