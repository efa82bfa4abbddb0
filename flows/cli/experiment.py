"""``python -m flows experiment``: list and run experiments, show their progress, print their tables."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from typing import Annotated

import typer

from fusesearch.cli.output import usage_error

app = typer.Typer(
    no_args_is_help=True, help="Run experiments and see their tables (docs/experiments.md).", rich_markup_mode="markdown"
)

Names = Annotated[list[str], typer.Argument(help="One experiment or several; `all` for every one.", metavar="NAME...")]
Seeds = Annotated[str | None, typer.Option(help="Run only these seeds, such as 0,2.", metavar="N,N")]


@app.command("list")
def list_experiments() -> None:
    """List the experiments with their arms, seeds, finished runs and nodes left to run.

    ```
    python -m flows experiment list
    ```
    """
    from rich.console import Console

    from flows.cli.experiment_tables import overview

    Console().print(overview())


@app.command()
def run(
    names: Names,
    seeds: Seeds = None,
    workers: Annotated[
        int | None, typer.Option("--jobs", help="Nodes to run at once; by default two if cores and memory allow it.", min=1)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would run.")] = False,
) -> None:
    """Run the nodes of an experiment that are missing or out of date, then write its results.

    Nodes that arms, seeds and experiments share run once; outputs of the main pipeline are reused. After Ctrl-C, a kill or a
    lost server, run the same command again to resume. If everything is up to date, it does nothing. Each node's log is in
    `.fusesearch/experiments/`.

    ```
    python -m flows experiment run filtering --dry-run
    python -m flows experiment run filtering
    python -m flows experiment run all --jobs 2
    ```
    """
    from flows.cli.experiment_tables import chosen
    from fusesearch.core.config import load_params
    from fusesearch.core.text import duration
    from tasks.experiments.rebuild import write_overview
    from tasks.experiments.schedule import check, experiments_lock, pending_tasks, workers_for

    experiments, numbers = chosen(names), _numbers(seeds)
    for experiment in experiments:
        check(experiment, numbers)

    with nullcontext() if dry_run else experiments_lock():
        workers = workers or workers_for(load_params())
        pending, total = pending_tasks(experiments, numbers)
        if not pending:
            typer.echo(f"nothing to do: all {total} runs exist, and nothing they depend on has changed")
        else:
            typer.echo(f"{len(pending)} of {total} to run, {workers} at a time")
        for task in pending:
            own = " (main pipeline)" if task.target == task.name else ""
            more = f" and {len(task.users) - 2} more" if task.users[2:] else ""
            typer.echo(f"  {task.name}{own}: {'; '.join(task.users[:2])}{more}")
        if dry_run:
            return
        if pending:
            from flows.experiments import run_experiments  # takes seconds: it imports Prefect

            started = time.monotonic()
            run_experiments([experiment.name for experiment in experiments], numbers, workers)
            typer.echo(f"done in {duration(time.monotonic() - started)}")
        write_overview()


@app.command()
def status(names: Names) -> None:
    """Show which nodes of each arm and seed are finished, started or missing.

    ```
    python -m flows experiment status filtering
    python -m flows experiment status all
    ```
    """
    from rich.console import Console

    from flows.cli.experiment_tables import chosen, states
    from tasks.running.dvc_command import up_to_date

    experiments, current = chosen(names), up_to_date()
    for experiment in experiments:
        Console().print(states(experiment, current))


@app.command()
def table(names: Names) -> None:
    """Print the results: on a terminal the arms beside the paper's and the verdicts, in a pipe the whole page.

    ```
    python -m flows experiment table filtering
    python -m flows experiment table all > ablations.md
    ```
    """
    from flows.cli.experiment_tables import ALL, chosen
    from fusesearch.core.storage import read_text
    from fusesearch.reporting.experiment.pages import arms_table
    from fusesearch.reporting.experiment.results import PAGE, RESULTS, read_results
    from fusesearch.reporting.page import Section, show

    pages = []
    for experiment in chosen(names):
        if ALL in names and not (experiment.folder / RESULTS).exists():
            typer.echo(f"{experiment.name}: no results yet", err=True)
            continue
        results, page = read_results(experiment.folder), experiment.folder / PAGE
        if sys.stdout.isatty():
            more = f"Differences, orderings, power and pictures: {page}"
            show([Section(results.title, [*(claim.sentence for claim in results.claims), more], [arms_table(results)])])
        else:
            pages.append(read_text(page))
    if pages:
        typer.echo("\n".join(pages))


def _numbers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise usage_error(f"{text!r} is not a list of numbers, such as 0,2", "--seeds") from None
