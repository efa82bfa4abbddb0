"""Records of what ``fusesearch evaluate`` wrote: a parent for the grid and a record per finished cell, from the files alone."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any

from fusesearch.core.digests import digest
from fusesearch.core.storage import read_json, write_json
from fusesearch.evaluation.results import DONE, MANIFEST, SCORES, SETTINGS, Cell, Manifest, cell_folder, read_manifest
from tasks.running.record import RunRecord, digests

KEY = "tracking.json"
"""Holds the key of the grid's run, so that a grid that is extended or moved stays one run."""


def grid_records(out: Path) -> list[RunRecord]:
    """The grid in the folder ``out`` and its finished cells. Raises :class:`ArtifactError` where no grid is.

    A cell's time is that of its files: its settings are written when it starts, :data:`DONE` when it ends.
    """
    out = Path(os.path.relpath(out))  # one name for it, however it is given
    manifest = read_manifest(out)
    if not (out / KEY).exists():
        write_json(out / KEY, {"key": uuid.uuid4().hex})
    key = read_json(out / KEY)["key"]
    finished = [cell for cell in manifest.cells if (cell_folder(out, cell) / DONE).exists()]
    cells = [_cell_record(cell, cell_folder(out, cell), manifest, key) for cell in finished]
    grid = manifest.grid
    values: dict[str, Any] = {
        "localizers": ",".join(grid.localizers or grid.cells),
        "models": ",".join(row.name for row in grid.models),
    }
    values |= {"benchmarks": ",".join(row.name for row in grid.benchmarks), "runs": grid.runs, "seed": grid.seed}
    instances = digests(row.instances for row in grid.benchmarks if row.instances.exists())
    started = min([(out / MANIFEST).stat().st_mtime, *(cell.started for cell in cells)])
    parent = RunRecord(
        kind="grid", name=f"grid {out.resolve().name}", params=values, inputs=instances, key=key, started=started,
        git_revision=manifest.revision,
    )  # fmt: skip
    return [parent, *cells]


def _cell_record(cell: Cell, folder: Path, manifest: Manifest, parent: str) -> RunRecord:
    grid = manifest.grid
    limits = {f"agent.{name}": value for name, value in grid.agent.model_dump(mode="json").items()}
    values: dict[str, Any] = {**cell.model_dump(), "runs": grid.runs, "seed": grid.seed, **limits}
    started, ended = ((folder / name).stat().st_mtime for name in (SETTINGS, DONE))
    return RunRecord(
        kind="cell", name=cell.name, arm=cell.name, params=values, outputs=digests([folder / SCORES]),
        metrics=read_json(folder / DONE)["figures"]["protocols"], started=started, seconds=ended - started, parent=parent,
        key=digest(parent, cell.name)[:32], git_revision=manifest.revision,
    )  # fmt: skip
