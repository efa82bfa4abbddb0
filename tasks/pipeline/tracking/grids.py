"""Runs of a grid of evaluations, and of its cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tasks.core.digests import digest
from tasks.core.schema import Score
from tasks.core.storage import read_jsonl, write_json
from tasks.evaluation.results import SCORES, TRAJECTORIES
from tasks.pipeline.tracking.episodes import log_episodes
from tasks.pipeline.tracking.outbox import open_outbox
from tasks.pipeline.tracking.run import Run, create, following, remembered_key
from tasks.pipeline.tracking.store import shown, tracking_uri


@contextmanager
def grid_run(name: str, values: Mapping[str, Any], inputs: Iterable[Path], record: Path) -> Iterator[Run]:
    """The parent run of a grid of evaluations; its cells are children (:func:`cell_run`).

    ``record`` is a JSON file that remembers it: a grid that was killed goes on in the run it began, and the cells that its
    process left open are closed. Raises :class:`TrackingUnavailable` when the store does not answer and never has.
    """
    outbox = open_outbox()
    try:
        belongs = shown(tracking_uri())
        key, known = remembered_key(record, belongs)
        if not known:
            write_json(record, {"belongs": belongs, "run": key})
        run = create(outbox, name, {"kind": "grid"}, key=key)
        run.write("close_children")
        with following(run):
            run.log_params(values)
            run.log_inputs(inputs)
            yield run
    finally:
        outbox.settle()


@contextmanager
def cell_run(parent: Run, cell: str, values: Mapping[str, Any]) -> Iterator[Run]:
    """The run of one cell of a grid: its params (who, with what, on what) and its figures stand side by side with the others'."""
    key = digest(parent.key, cell)[:32]
    run = create(parent.outbox, cell, {"kind": "cell", "arm": cell}, parent=parent, key=key)
    with following(run):
        run.log_params(values)
        yield run


def log_cell(run: Run, folder: Path, figures: Mapping[str, Any]) -> None:
    """What a cell came to: its row under every protocol, and its figures and episodes as those of an evaluated arm.

    ``folder`` is the cell's. One that was extended since takes the place of what was recorded before.
    """
    log_episodes(run, list(read_jsonl(folder / SCORES, Score)), folder / TRAJECTORIES)
    run.log(figures["protocols"])
