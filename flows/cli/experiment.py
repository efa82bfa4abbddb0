"""``python -m flows experiment``: list and run experiments."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from fusesearch.cli.output import usage_error

if TYPE_CHECKING:
    from tasks.experiments.spec import Experiment

app = typer.Typer(no_args_is_help=True, help="Run experiments (docs/experiments.md).", rich_markup_mode="markdown")

ALL = "all"
Names = Annotated[list[str], typer.Argument(help="One experiment or several; `all` for every one.", metavar="NAME...")]
Seeds = Annotated[str | None, typer.Option(help="Run only these seeds, such as 0,2.", metavar="N,N")]


@app.command("list")
def list_experiments() -> None:
    """List the experiments: what they take from nothing, and what came out, with the revision of the committed results.

    ```
    python -m flows experiment list
    ```
    """
    from fusesearch.core.config import load_params
    from fusesearch.core.errors import ArtifactError
    from fusesearch.core.text import duration
    from fusesearch.reporting.experiment.results import read_results
    from tasks.experiments.plan import nodes_of, plan
    from tasks.running.forecast import took

    row = "{:<16} {:>4} {:>5} {:>5} {:>13}  {:<30} {:<9} {}".format
    typer.echo(row("name", "arms", "seeds", "nodes", "take about", "came out", "revision", "title"))
    params, seconds = load_params(), took()
    for one in _chosen([ALL]):
        nodes = [] if one.finished else nodes_of(plan(one, params))
        takes = ["-", "finished"] if one.finished else [len(nodes), duration(sum(seconds[node.stage] for node in nodes))]
        try:
            results = read_results(one.folder)
            came_out = [results.word, results.revision[:7]]
        except ArtifactError:
            came_out = ["nothing yet", ""]
        typer.echo(row(one.name, len(one.arms), len(one.seeds), *takes, *came_out, one.title))


@app.command()
def run(
    names: Names,
    seeds: Seeds = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would run.")] = False,
) -> None:
    """Run the nodes of an experiment that are missing or out of date, then write its results.

    Nodes that arms, seeds and experiments share run once; outputs of the main pipeline are reused. After Ctrl-C, a kill or a
    lost server, run the same command again to resume. If everything is up to date, it does nothing. Each node's log is in
    `.fusesearch/experiments/`.

    ```
    python -m flows experiment run filtering --dry-run
    python -m flows experiment run filtering
    ```
    """
    from fusesearch.core.text import duration
    from tasks.experiments.schedule import experiments_lock, pending_tasks
    from tasks.running.forecast import took

    experiments, numbers = [row for row in _chosen(names) if not (row.finished and ALL in names)], _numbers(seeds)
    with nullcontext() if dry_run else experiments_lock():
        pending, total = pending_tasks(experiments, numbers)
        if not pending:
            typer.echo(f"nothing to do: all {total} runs exist, and nothing they depend on has changed")
        else:
            seconds = {task.name: took().get(task.stage, 0) for task in pending}
            typer.echo(f"{len(pending)} of {total} to run, about {duration(sum(seconds.values()))}")
        for task in pending:
            own = " (main pipeline)" if task.target == task.name else ""
            more = f" and {len(task.users) - 2} more" if task.users[2:] else ""
            typer.echo(f"  {task.name}{own}, {duration(seconds[task.name])}: {'; '.join(task.users[:2])}{more}")
        if dry_run:
            return
        if pending:
            from flows.experiments import run_experiments  # takes seconds: it imports Prefect

            started = time.monotonic()
            run_experiments([experiment.name for experiment in experiments], numbers)
            typer.echo(f"done in {duration(time.monotonic() - started)}")
        from tasks.experiments.results import write_overview  # takes a second: it imports what draws

        write_overview()


def _chosen(names: list[str]) -> list[Experiment]:
    """The named experiments without repeats; ``all`` means every one. Raises :class:`ConfigError` for an unknown name."""
    from tasks.experiments.spec import experiment_names, load_experiment

    return [load_experiment(name) for name in (experiment_names() if ALL in names else dict.fromkeys(names))]


def _numbers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise usage_error(f"{text!r} is not a list of numbers, such as 0,2", "--seeds") from None
