"""Evaluate a grid of localizers, models and benchmarks: ``python -m flows.grid GRID.yaml OUT``.

The same work as ``fusesearch evaluate``, seen in Prefect: a task per cell, which goes on from its journal when it is tried again.
"""

import sys
import time
from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect.artifacts import create_table_artifact

from flows.command import run_command
from flows.progress import StageProgress
from flows.retries import RETRIED
from tasks.core.errors import ConfigError
from tasks.evaluation.grid import Grid, load_grid
from tasks.evaluation.results import Cell, cell_folder
from tasks.pipeline.grid import GridRun, opened
from tasks.pipeline.places import SNAPSHOTS
from tasks.pipeline.record import RunRecord, cell_record, grid_record, write_record
from tasks.pipeline.tracking import track


@task(name="run cell", task_run_name="{cell.name}", **RETRIED)
def run_cell(current: GridRun, cell: Cell, parent: RunRecord, progress: StageProgress) -> dict[str, Any]:
    """One localizer with one model on one benchmark; a run of its own in MLflow."""
    begun = time.time()
    figures = current.run(cell, progress)
    done = cell_record(parent, cell.name, current.params_of(cell), cell_folder(current.out, cell), figures["protocols"], begun)
    write_record(done)
    track(done)
    return {"cell": cell.name, **{name: figures[name] for name in ("instances", "scores", "errored")}, **figures["protocols"]}


@flow(name="grid")
def grid_flow(grid: Grid, out: Path) -> list[dict[str, Any]]:
    """All cells of a grid into the folder ``out``."""
    inputs = [benchmark.instances for benchmark in grid.benchmarks]
    values = {"runs": grid.runs, "seed": grid.seed, "localizers": ",".join(grid.localizers)}
    with (
        StageProgress("grid") as progress,
        opened(grid, out, SNAPSHOTS, progress=progress) as current,
    ):
        parent = grid_record(f"grid {out.name}", values, inputs, out)
        write_record(parent)
        rows = [run_cell(current, cell, parent, progress) for cell in current.cells]
        current.finish()
    track(parent)
    create_table_artifact(table=rows, key="grid", description=f"Cells of {out}")
    return rows


def _arguments(arguments: list[str]) -> tuple[Grid, Path]:
    if len(arguments) != 2:
        raise ConfigError("usage: python -m flows.grid GRID.yaml OUT")
    return load_grid(Path(arguments[0])), Path(arguments[1])


if __name__ == "__main__":
    run_command(lambda: grid_flow(*_arguments(sys.argv[1:])))
