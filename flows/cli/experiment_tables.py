"""The tables of ``python -m flows experiment``: ``list`` and ``status``."""

from __future__ import annotations

from collections.abc import Container, Iterable
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from fusesearch.core.config import load_params
from tasks.experiments.outcome import is_finished
from tasks.experiments.plan import nodes_of, plan
from tasks.experiments.schedule import ExperimentTask, counts_in, end_of
from tasks.experiments.spec import Experiment, experiment_names, load_experiment
from tasks.running.dvc_command import up_to_date
from tasks.running.node import Node
from tasks.running.places import STATE
from tasks.stages import STAGES

ALL = "all"


def overview() -> Table:
    """The table of ``list``: one row per experiment."""
    params, current = load_params(), up_to_date()
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("name", no_wrap=True)
    table.add_column("title", min_width=12)
    for column in ("arms", "seeds", "finished", "to run"):
        table.add_column(column)
    for name in experiment_names():
        experiment = load_experiment(name)
        plans = plan(experiment, params)
        left = sum(node.name not in current for node in nodes_of(plans))
        done = sum(is_finished(row, current) for row in plans)
        table.add_row(
            name, escape(experiment.title), str(len(experiment.arms)), ",".join(map(str, experiment.seeds)),
            f"{done} of {len(plans)}", str(left),
        )  # fmt: skip
    return table


def chosen(names: Iterable[str]) -> list[Experiment]:
    """The named experiments without repeats; ``all`` means every one. Raises :class:`ConfigError` for an unknown name."""
    names = list(names)
    return [load_experiment(name) for name in (experiment_names() if ALL in names else dict.fromkeys(names))]


def states(experiment: Experiment, current: Container[str]) -> Table:
    """The table of ``status``: a row per arm and seed, a column per stage; shared stages stand in the caption.

    ``current`` holds the names of the nodes that are up to date.
    """
    plans = plan(experiment, load_params())
    stages = [stage for stage in STAGES if any(stage in row.nodes for row in plans)]
    own = [stage for stage in stages if any(row.nodes.get(stage) != plans[0].nodes.get(stage) for row in plans)]
    shared = ", ".join(f"{stage} {_cell(plans[0].nodes[stage], current)}" for stage in stages if stage not in own)
    table = Table(box=SIMPLE_HEAD, title=experiment.name)
    table.add_column("arm", min_width=max(len(experiment.label(row.arm)) for row in plans))
    for column in ("seed", *(stage.replace("_", " ") for stage in own)):
        table.add_column(column)
    for row in plans:
        cells = (_cell(row.nodes[stage], current) if stage in row.nodes else "" for stage in own)
        table.add_row(escape(experiment.label(row.arm)), str(row.seed), *cells)
    table.caption = (
        f"{f'for all: {shared}' if shared else ''}\n"
        "main: by the main pipeline · made: by a node of its own · -: not yet\n"
        "started: will resume where it stopped; 12 of 50: started, with its progress"
    ).strip()
    return table


def _cell(node: Node, current: Container[str]) -> str:
    """The state of a node, with its progress if its log shows it."""
    if node.name in current:
        return "made" if node.id else "main"
    unfinished = list((STATE / "progress").glob(f"{node.name}-{'?' * 16}"))
    counts = _counts(node, unfinished)
    return f"[yellow]{counts[0]} of {counts[1]}[/]" if counts else "[yellow]started[/]" if unfinished else "-"


def _counts(node: Node, unfinished: Iterable[Path]) -> tuple[int, int] | None:
    """Rows done and rows in all; None if the log is older than the unfinished work and so belongs to an earlier process."""
    log = ExperimentTask(node.name, node.stage, ()).log
    last = max((path.stat().st_mtime for folder in unfinished if (path := folder / "runs.json").exists()), default=None)
    return counts_in(end_of(log)) if last is not None and log.exists() and log.stat().st_mtime >= last else None
