"""``fusesearch evaluate``: run a grid of localizers, models and benchmarks."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fusesearch.cli.options import OWN_OPTIONS, with_options
from fusesearch.cli.output import usage_error
from fusesearch.core.text import flat_name

if TYPE_CHECKING:
    from fusesearch.core.storage import Progress
    from fusesearch.evaluation.grid import Grid


@with_options(OWN_OPTIONS)
def evaluate(
    grid: Annotated[Path | None, typer.Argument(help="A grid (docs/evaluation.md) instead.", metavar="GRID.yaml")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results; the same resumes.", metavar="DIR")] = Path("results"),
    localizer: Annotated[list[str] | None, typer.Option(help="One to run; repeat the option for more.", metavar="NAME")] = None,
    instances: Annotated[Path | None, typer.Option(help="SWE-bench's schema: .json, .jsonl, .parquet.", metavar="FILE")] = None,
    repos: Annotated[Path | None, typer.Option(help="Clones named OWNER__NAME.git; else below --out.", metavar="DIR")] = None,
    max_instances: Annotated[int | None, typer.Option(help="Only a random sample of this size.", min=1, metavar="N")] = None,
    model: Annotated[str | None, typer.Option(help="Model of an OpenAI-compatible endpoint.", metavar="NAME")] = None,
    base_url: Annotated[str | None, typer.Option(help="Address of the endpoint, ending in /v1.", metavar="URL")] = None,
    runs: Annotated[int | None, typer.Option(help="Runs per instance of a model; 3 by default.", min=1, metavar="N")] = None,
    concurrency: Annotated[int | None, typer.Option(help="Episodes at once; 16 by default.", min=1, metavar="N")] = None,
    retry_errored: Annotated[bool, typer.Option("--retry-errored", help="Run errored episodes of finished cells again.")] = False,
    cache: Annotated[Path | None, typer.Option(help="Of snapshots, indexes; else ~/.cache/fusesearch.", metavar="DIR")] = None,
    **own: Any,
) -> None:
    """Evaluate localizers on benchmarks.

    Runs every localizer with every model on every benchmark, and writes scores (JSONL, Parquet), trajectories and a
    manifest. To resume after a kill, run it again with the same folder. An episode that fails because of the infrastructure
    runs once more and then counts as errored, never as zero; the first reason of each system is shown, and the exit status
    is 1 where a system has no score at all. A localizer whose answer is always the same runs once. Prints the quality of
    every system, and writes nothing but --out and the caches; `fusesearch compare` makes all tables.

    The key of `--model` is `OPENAI_API_KEY`; in a grid file, each model names its own variable under `api_key_env`.

    ```
    fusesearch evaluate --localizer bm25 --localizer lexical --instances verified.jsonl --repos clones --out results
    fusesearch evaluate grid.yaml --out results
    fusesearch compare results
    ```
    """
    from fusesearch.cli.compare import print_quality
    from fusesearch.core.caches import Caches
    from fusesearch.evaluation.running import opened
    from fusesearch.training.served import served

    given = {
        "localizer": localizer, "instances": instances, "repos": repos, "max_instances": max_instances,
        "model": model, "base_url": base_url,
    }  # fmt: skip
    changes = {name: value for name, value in (("runs", runs), ("concurrency", concurrency)) if value is not None}
    wanted = _from_file(grid, {**given, **own}, changes) if grid else _from_options(given, own, changes)
    caches = Caches(cache) if cache else Caches()
    with (
        _bar() as bar,
        opened(wanted, out, caches, serve=served, retry_errored=retry_errored, progress=bar("truth")) as current,
    ):
        done = 0
        errors: dict[str, list[str | None]] = {}
        for cell in current.cells:
            errors[cell.name] = [score.error for score in current.run(cell, bar(cell.name, done, current.episodes))]
            done += current.episodes_of(cell)
        current.finish()
    print_quality(out)
    typer.echo(f"{len(current.cells)} cells, {current.episodes} episodes in {out}: `fusesearch compare {out}` says more")
    for name, found in errors.items():
        if said := [error for error in found if error]:
            counted = f"{len(said)} of {len(found)} episodes errored"
            typer.echo(f"{name}: {counted}, first: {said[0]}; --retry-errored tries them again", err=True)
    if any(all(found) for found in errors.values()):
        raise typer.Exit(1)


def _from_file(path: Path, given: dict[str, Any], changes: dict[str, Any]) -> Grid:
    from fusesearch.evaluation.grid import load_grid

    if also := next((name for name, value in given.items() if value), None):
        raise usage_error("the grid file sets this: leave the option out", f"--{also.replace('_', '-')}")
    return load_grid(path).model_copy(update=changes)


def _from_options(given: dict[str, Any], own: dict[str, Any], changes: dict[str, Any]) -> Grid:
    import os

    from fusesearch.core.config import parse_section
    from fusesearch.evaluation.grid import Grid

    localizers, instances, repos, max_instances, model, base_url = given.values()
    if not localizers or instances is None:
        raise usage_error("name a grid file, or at least --localizer and --instances", "--localizer")
    if (model is None) != (base_url is None):
        raise usage_error("--model and --base-url belong together", "--model")
    benchmark = {"name": flat_name(instances.stem), "instances": instances, "repos": repos, "max_instances": max_instances}
    key = {"api_key_env": "OPENAI_API_KEY"} if "OPENAI_API_KEY" in os.environ else {}
    name = re.sub(r"[^\w.+-]", "_", (model or "").rpartition("/")[2], flags=re.ASCII).lstrip("_.+-")[:100] or "model"
    models = [{"name": name, "model": model, "base_url": base_url, **key}] if model else []
    agent = {"agent": {"options": options}} if (options := {name: value for name, value in own.items() if value}) else {}
    return parse_section(
        Grid, {"localizers": localizers, "models": models, "benchmarks": [benchmark], **changes, **agent}, "options"
    )


@contextmanager
def _bar() -> Iterator[Callable[..., Progress]]:
    """Gives a callback of progress for each thing that is done: a bar on a terminal, nothing elsewhere."""
    from rich import progress
    from rich.console import Console

    columns = (*progress.Progress.get_default_columns(), progress.MofNCompleteColumn())
    with progress.Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as shown:
        task = shown.add_task("starting", total=None)

        def of(name: str, before: int = 0, total: int = 0) -> Progress:
            """For ``name``, which goes on after ``before`` of ``total``; without a total, the callback's own counts."""
            if not before:
                shown.reset(task)  # the time that is told is that of the episodes
            return lambda done, of: shown.update(task, description=name, completed=before + done, total=total or of)

        yield of
