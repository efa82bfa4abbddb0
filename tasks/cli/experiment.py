"""``fusesearch experiment``: what there is, run it, how far it is, its table."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tasks.cli.output import usage_error

app = typer.Typer(
    no_args_is_help=True, help="Run experiments and see their tables (docs/experiments.md).", rich_markup_mode="markdown"
)

Names = Annotated[list[str], typer.Argument(help="One experiment or several; `all` for every one.", metavar="NAME...")]
Seeds = Annotated[str | None, typer.Option(help="Some of its seeds, such as 0,2; all unless given.", metavar="N,N")]


@app.command("list")
def list_experiments() -> None:
    """List the experiments: arms, seeds, what is finished, how many runs are left and how long they take.

    ```
    fusesearch experiment list
    ```
    """
    from rich.console import Console

    from tasks.cli.experiment_state import overview

    Console().print(overview())


@app.command()
def run(
    names: Names,
    seeds: Seeds = None,
    jobs: Annotated[int | None, typer.Option(help="Runs at once; by default two where cores and memory allow it.", min=1)] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would run and how long it takes, and end.")] = False,
    profile: Annotated[
        str | None, typer.Option(help="Make this profile `params.yaml` first, as `profile use` does.", metavar="NAME")
    ] = None,
) -> None:
    """Run what an experiment needs and is not there, then write its results.

    What arms, seeds and experiments share runs once, and what the main pipeline made is used. Cut off by Ctrl-C, a kill or a
    server that went away, the same command goes on from there; when nothing is left to do, it does nothing. Each run's output
    is in `.fusesearch/experiments/`.

    ```
    fusesearch experiment run filtering --dry-run
    fusesearch experiment run filtering
    fusesearch experiment run all --jobs 2
    ```
    """
    from tasks.cli.experiment_run import run_experiments

    sys.exit(run_experiments(names, _numbers(seeds), jobs, dry_run, profile))


@app.command()
def status(names: Names) -> None:
    """Show for every arm and seed which runs are there, begun, or to be made.

    ```
    fusesearch experiment status filtering
    fusesearch experiment status all
    ```
    """
    from rich.console import Console

    from tasks.cli.experiment_state import chosen, states

    for experiment in chosen(names):
        Console().print(states(experiment))


@app.command()
def table(names: Names) -> None:
    """Print the results: verdicts and the arms beside the paper's on a terminal, the whole page in a file or a pipe.

    ```
    fusesearch experiment table filtering
    fusesearch experiment table all > ablations.md
    ```
    """
    from rich.console import Console

    from tasks.cli.experiment_state import ALL, chosen
    from tasks.cli.experiment_table import pages, shown, with_results

    experiments = chosen(names)
    if ALL in names:
        experiments, every = with_results(experiments), experiments
        for absent in (row.name for row in every if row not in experiments):
            typer.echo(f"{absent}: no results yet", err=True)
    if not sys.stdout.isatty():
        typer.echo(pages(experiments))
        return
    for experiment in experiments:
        Console().print(*shown(experiment), sep="\n")


@app.command()
def plan() -> None:
    """Write `experiments/dvc.yaml`: the runs of all experiments as stages of DVC.

    `run` does it by itself; `dvc repro experiments/dvc.yaml:results-NAME` does the same work as `run NAME`.

    ```
    fusesearch experiment plan
    ```
    """
    from tasks.pipeline.experiments.dvc_file import TARGET, write_dvc_file

    typer.echo(f"{TARGET}: {'written' if write_dvc_file() else 'nothing to change'}")


def _numbers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise usage_error(f"{text!r} is no list of numbers, such as 0,2", "--seeds") from None
