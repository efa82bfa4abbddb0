"""Shares of a stage's work, to be done in other processes or on other machines.

A share is some keys of one journal: repositories to mine or to read truths from, instances to run. Whoever works on it needs the
same working tree and packages; it gives back the rows that a single process would have written down itself. The stage then goes
on from its journal as always, so that its artifacts are made by the same code whether or not there were shares.

Shares do not include episodes of a model that vLLM serves: the stage itself starts the servers once, and they run all episodes
side by side. Shares would start servers each, or change the weights of the same ones under one another.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fusesearch.core.config import Params
from fusesearch.core.errors import DataError
from fusesearch.core.storage import Journal, iter_rows, read_instances, silent
from tasks.running.places import CACHES, Places

Row = dict[str, Any]
"""A line of a journal; ``ARCHIVE`` is what belongs into the stage's scratch besides."""

ARCHIVE = "archive"
"""A tar file of a mined repository, in bytes, that travels with its row."""


@dataclass(frozen=True)
class Share:
    """Keys of the work to do (repositories, or instances of ``cell``). ``journal`` is where the rows belong."""

    stage: str
    cell: str
    journal: str
    keys: tuple[str, ...]

    @property
    def name(self) -> str:
        """What people see of it."""
        return f"{self.cell or self.stage}: {len(self.keys)} from {self.keys[0]}"


@dataclass(frozen=True)
class Spread:
    """How a stage is divided: what its journals lack, and how a share becomes rows (in a folder for its files)."""

    lacking: Callable[[Params, Places, Path], Iterator[tuple[str, str, list[str]]]]
    run: Callable[[Share, Params, Places, Path], Iterable[Row]]


def shares_of(stage: str, params: Params, places: Places, scratch: Path, count: int) -> list[Share]:
    """What the journals of ``stage`` lack, each divided into at most ``count`` shares of neighbouring keys.

    Neighbours are often of one repository, whose snapshot and results of tools they share.
    """
    return [
        Share(stage, cell, journal, part)
        for cell, journal, lacking in SPREAD[stage].lacking(params, places, scratch)
        for part in _divided(lacking, count)
    ]


def run_share(share: Share, params: Params, places: Places) -> list[Row]:
    """The rows of a share. What the infrastructure broke is not among them, and is left to the stage itself.

    Raises:
        InfrastructureError: over half of the teacher's candidates failed, or a mining worker died.
        ArtifactError: a checkpoint or a table is not on this machine.
    """
    with TemporaryDirectory(prefix="share-") as folder:
        return list(SPREAD[share.stage].run(share, params, places, Path(folder)))


def take_in(share: Share, rows: Iterable[Row], scratch: Path) -> int:
    """Add the rows of a share to the stage's journal; returns how many rows are in it."""
    with Journal(scratch / share.journal, key="key") as journal:
        for row in rows:
            if ARCHIVE in row:
                with tarfile.open(fileobj=io.BytesIO(row.pop(ARCHIVE))) as archive:
                    archive.extractall(scratch, filter="data")
            journal.append(row)
        return len(journal)


def _unmined(params: Params, places: Places, scratch: Path) -> Iterator[tuple[str, str, list[str]]]:
    from fusesearch.data.sources.synthetic.mining import JOURNAL, Synthetic
    from tasks.mine import REPOS

    if params.mine.source == "synthetic":  # the others wait for a server or a disk
        for repo in Synthetic(params.mine, params.data_seed, scratch).lacking(scratch / REPOS):
            yield "", JOURNAL, [repo]  # a share each, because they differ widely in size


def _mined(share: Share, params: Params, places: Places, folder: Path) -> Iterator[Row]:
    from fusesearch.data.sources.synthetic.mining import Synthetic
    from tasks.mine import REPOS

    one = params.mine.model_copy(update={"workers": 1})  # a share reserves one processor
    with suppress(DataError):  # nothing to mine: the stage itself says why
        Synthetic(one, params.data_seed, folder).mine(folder / REPOS, silent, only=share.keys)
    with closing(Journal(folder / share.journal, key="key")) as journal:
        for row in journal.rows.values():
            packed = io.BytesIO()
            with tarfile.open(fileobj=packed, mode="w:gz") as archive:
                archive.add(folder / REPOS, REPOS)
            yield {**row, ARCHIVE: packed.getvalue()}


def _unread(params: Params, places: Places, scratch: Path) -> Iterator[tuple[str, str, list[str]]]:
    from tasks.filter import JOURNAL

    with closing(Journal(scratch / JOURNAL, key="key")) as journal:
        repos = dict.fromkeys(row["repo"] for row in iter_rows(places["mine.pairs"], ["repo"]))
        yield "", JOURNAL, [repo for repo in repos if repo not in journal]


def _truths(share: Share, params: Params, places: Places, folder: Path) -> Iterator[Row]:
    from fusesearch.data.filtering import truths_of

    for repo, truths in truths_of(places["mine.pairs"], share.keys, params.filter, places["mine.repos"]):
        written = {key: truth if isinstance(truth, str) else truth.model_dump(mode="json") for key, truth in truths.items()}
        yield {"key": repo, "truths": written}


def _untaught(params: Params, places: Places, scratch: Path) -> Iterator[tuple[str, str, list[str]]]:
    from fusesearch.training.synthesis import draw
    from tasks.synthesize import JOURNAL

    if params.teacher.localizer == "model" and not params.teacher.base_url:
        return  # vLLM serves it
    candidates = draw(read_instances(places["split.sft"]), params.synthesize, params.seed)
    with closing(Journal(scratch / JOURNAL, key="key")) as rows:
        lacking = dict.fromkeys(row.instance.instance_id for row in candidates if row.key not in rows)
    yield "", JOURNAL, list(lacking)


def _candidates(share: Share, params: Params, places: Places, folder: Path) -> Iterator[Row]:
    from tasks.synthesize import make_candidates

    chosen = [row for row in read_instances(places["split.sft"]) if row.instance_id in share.keys]
    make_candidates(chosen, params, places, folder, silent)
    return _finished(folder / share.journal)


def _unscored(params: Params, places: Places, scratch: Path) -> Iterator[tuple[str, str, list[str]]]:
    from fusesearch.evaluation import results
    from fusesearch.evaluation.running import opened
    from tasks.evaluate import held_out_grid

    with opened(held_out_grid(params, places), scratch, CACHES, retry_errored=True) as grid:
        for cell in (cell for cell in grid.cells if not (cell.model and params.evaluate.rollouts == "vllm")):
            journal = results.cell_folder(Path(), cell) / results.JOURNAL
            yield cell.name, journal.as_posix(), grid.lacking(cell)


def _episodes(share: Share, params: Params, places: Places, folder: Path) -> Iterator[Row]:
    from fusesearch.evaluation.running import opened
    from tasks.evaluate import held_out_grid

    with opened(held_out_grid(params, places), folder, CACHES) as grid:
        (cell,) = (row for row in grid.cells if row.name == share.cell)
        grid.episodes_into(folder / share.journal, cell, share.keys)
    return _finished(folder / share.journal)


def _finished(journal: Path) -> Iterator[Row]:
    with closing(Journal(journal, key="key")) as rows:
        return (row for row in rows.rows.values() if row["trajectory"]["error"] is None)


SPREAD: Mapping[str, Spread] = {
    "mine": Spread(_unmined, _mined),
    "filter": Spread(_unread, _truths),
    "synthesize": Spread(_untaught, _candidates),
    "evaluate": Spread(_unscored, _episodes),
}
"""The stages whose work can be spread."""


def _divided(keys: Sequence[str], count: int) -> Iterator[tuple[str, ...]]:
    """``keys`` in at most ``count`` parts whose sizes differ by one at most."""
    waiting, parts = iter(keys), min(count, len(keys))
    for number in range(parts):
        yield tuple(islice(waiting, len(keys) // parts + (number < len(keys) % parts)))
