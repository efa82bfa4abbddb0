"""What a grid leaves on disk, and reading it again.

::

    OUT/
      manifest.json                 the grid, its benchmarks and their excluded instances, its cells, the git revision
      instances/<benchmark>.parquet instances with their truth
      cells/<cell>/settings.json    what its episodes depend on
                   journal.jsonl    finished episodes, while the cell runs
                   trajectories.jsonl, scores.jsonl, scores.parquet
                   cell.json        written last: the cell is finished
      scores.parquet                all finished cells
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from fusesearch.core.config import parse_section
from fusesearch.core.errors import ArtifactError
from fusesearch.core.schema import Record, Score
from fusesearch.core.storage import read_json, read_jsonl, replacing
from fusesearch.evaluation.grid import Grid
from fusesearch.localizers.registry import entry_of

MANIFEST, SETTINGS, DONE = "manifest.json", "settings.json", "cell.json"
JOURNAL, TRAJECTORIES, SCORES, SCORES_TABLE = "journal.jsonl", "trajectories.jsonl", "scores.jsonl", "scores.parquet"


class Cell(Record):
    """One localizer with one model (empty: it asks none) on one benchmark, and its name where the grid gives one."""

    localizer: str
    model: str = ""
    benchmark: str
    given_name: str = ""

    @property
    def name(self) -> str:
        """Name of its folder and of its arm."""
        return self.given_name or ".".join(part for part in (self.localizer, self.model, self.benchmark) if part)

    @property
    def system(self) -> str:
        """What a table calls it within its benchmark."""
        return self.given_name or (f"{self.localizer} ({self.model})" if self.model else self.localizer)


class Loaded(Record):
    """A benchmark as it was used: how many instances, and why others were not."""

    source: str
    instances: int = 0
    repositories: int = 0
    excluded: dict[str, str] = Field(default_factory=dict)


class Manifest(Record):
    """A grid's folder in one document."""

    schema_version: Literal[1] = 1
    grid: Grid
    benchmarks: dict[str, Loaded]
    cells: list[Cell]
    revision: str = "unknown"


@dataclass(frozen=True)
class CellResult:
    """A finished cell: its scores, and where they and its trajectories lie."""

    cell: Cell
    folder: Path
    scores: list[Score]
    manifest: Manifest


@dataclass(frozen=True)
class Results:
    """Finished cells of one folder or several, and the names of those that are not finished."""

    cells: list[CellResult]
    unfinished: list[str]


def runs_of(cell: Cell, grid: Grid) -> int:
    """Runs per instance: the grid's, but one of a localizer whose answer is always the same."""
    entry = None if cell.given_name else entry_of(cell.localizer)
    return grid.runs if entry is None or entry.asks_model or entry.draws else 1


def cell_folder(out: Path, cell: Cell) -> Path:
    """Where a cell's files lie."""
    return out / "cells" / cell.name


def read_manifest(out: Path) -> Manifest:
    """The manifest of a grid's folder. Raises :class:`ArtifactError` when it is missing, :class:`ConfigError` when it is none."""
    path = out / MANIFEST
    if not path.exists():
        raise ArtifactError(f"{out} holds no grid (no {MANIFEST}): name a folder that `fusesearch evaluate` wrote")
    return parse_section(Manifest, read_json(path), str(path))


def read_results(folders: Sequence[Path]) -> Results:
    """All finished cells of grids. Raises :class:`ArtifactError` where nothing is finished, or one cell is in two folders."""
    found: dict[str, CellResult] = {}
    unfinished: list[str] = []
    for out in folders:
        manifest = read_manifest(out)
        for cell in manifest.cells:
            folder = cell_folder(out, cell)
            if not (folder / DONE).exists():
                unfinished.append(cell.name)
                continue
            if cell.name in found:
                raise ArtifactError(f"{cell.name} is in {found[cell.name].folder} and in {folder}: name one of the two folders")
            found[cell.name] = CellResult(cell, folder, list(read_jsonl(folder / SCORES, Score)), manifest)
    if not found:
        raise ArtifactError(f"no cell is finished in {', '.join(map(str, folders))}: run `fusesearch evaluate` again to go on")
    return Results(list(found.values()), unfinished)


def write_scores_table(path: Path, scores: Iterable[Score]) -> None:
    """Scores as Parquet, atomically; a row per episode, the columns of :class:`Score`."""
    import polars as pl

    rows = [score.model_dump(mode="json") for score in scores]
    lists = {name for name, field in Score.model_fields.items() if "list" in str(field.annotation)}
    numbers = {"calls_each_turn": pl.List(pl.Int64)}
    schema = {name: numbers.get(name, pl.List(pl.String)) for name in lists}
    with replacing(path) as temporary:
        pl.DataFrame(rows, schema_overrides=schema, infer_schema_length=None).write_parquet(temporary)
