"""Evaluate: checkpoints and localizers on the same held-out instances, a grid that ``params.yaml`` describes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

from fusesearch.core.config import Agent, Params, parse_section
from fusesearch.core.errors import DataError, InfrastructureError
from fusesearch.core.schema import Score
from fusesearch.core.storage import Progress, count_rows, read_json, write_json, write_jsonl
from fusesearch.core.text import safe_name
from fusesearch.evaluation.grid import Benchmark, Grid
from fusesearch.evaluation.metrics import aggregate
from fusesearch.evaluation.results import JOURNAL, MANIFEST, cell_folder
from fusesearch.evaluation.running import GridRun, opened
from fusesearch.training.served import served
from tasks.checkpoints import checkpoint_of
from tasks.running.node import Job
from tasks.running.parts import Part
from tasks.running.places import CACHES, Places
from tasks.running.resume import publish


def held_out_grid(params: Params, places: Places) -> Grid:
    """The cells of ``evaluate.cells`` on the validation split, from params and places alone."""
    section = params.evaluate
    cells = {
        name: cell.model_copy(update={"checkpoint": str(checkpoint_of(cell.checkpoint, params, places))})
        if cell.checkpoint
        else cell
        for name, cell in section.cells.items()
    }
    held_out = Benchmark(
        name="held-out", instances=places["split.validation"], repos=places["mine.repos"],
        max_instances=section.max_instances, seed=params.data_seed,
    )  # fmt: skip
    agent = parse_section(Agent, {**params.agent.model_dump(), **section.agent}, "evaluate.agent")
    reward = {name: getattr(params.grpo, name) for name in ("reward", "alpha", "beta", "gamma")}
    return Grid(
        cells=cells, benchmarks=[held_out], runs=section.runs, concurrency=section.concurrency, seed=params.seed,
        temperature=section.temperature, dtype=params.model.dtype, agent=agent, tools=params.tools,
        compute=params.compute if section.rollouts == "vllm" else None, **reward,
    )  # fmt: skip


def evaluate_cells(job: Job) -> dict[str, Any]:
    """Write the scores of all cells, and a grid's folder of results; goes on from what lies in the job's scratch.

    Raises:
        DataError: nothing is held out.
        InfrastructureError: a cell has no score at all.
    """
    if not count_rows(job.places["split.validation"]):
        raise DataError("the validation split is empty: name owners in split.validation_owners that were mined")
    scores: list[Score] = []
    figures: dict[str, Any] = {}
    with _opened(job, serve=served, retry_errored=True) as grid:
        for cell in grid.cells:
            found = job.part(cell.name, partial(grid.run, cell, _part(job.progress, len(scores), grid.episodes)))
            figures[safe_name(cell.name)] = aggregate(found)
            if not figures[safe_name(cell.name)]["scores"]:
                raise InfrastructureError(f"evaluate: every episode of {cell.name} errored: {found[0].error}")
            scores += found
    write_jsonl(job.output("scores"), scores)
    write_json(job.output("manifest"), read_json(job.scratch / MANIFEST))
    shutil.copytree(job.scratch / "cells", job.scratch / "copy", dirs_exist_ok=True)
    publish(job.scratch / "copy", job.output("cells"))
    instances, repositories = ({getattr(row, name) for row in scores} for name in ("instance_id", "repo"))
    return {"held_out_instances": len(instances), "held_out_repositories": len(repositories), **figures}


def _opened(job: Job, **options: Any) -> AbstractContextManager[GridRun]:
    return opened(held_out_grid(job.params, job.places), job.scratch, CACHES, **options)


def _part(progress: Progress, before: int, total: int) -> Progress:
    """Progress of one cell as a part of the whole."""
    return lambda done, _: progress(before + done, total)


def lacking(job: Job) -> Iterator[Part]:
    """Instances of which a cell lacks an episode, without cells of models that vLLM serves, as in :mod:`tasks.synthesize`."""
    with _opened(job, retry_errored=True) as grid:
        for cell in grid.cells:
            if not (cell.model and job.params.evaluate.rollouts == "vllm"):
                yield Part((cell_folder(Path(), cell) / JOURNAL).as_posix(), tuple(grid.lacking(cell)), cell.name)


def do_part(job: Job, part: Part) -> None:
    """Run the episodes of a cell on instances."""
    with _opened(job) as grid:
        (cell,) = (row for row in grid.cells if row.name == part.cell)
        grid.episodes_into(job.scratch / part.journal, cell, part.keys)
