"""The tables of ``fusesearch experiment``: ``list``, ``status``, and ``table`` on a terminal or as the committed pages."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from tasks.core.config import load_params
from tasks.core.storage import read_text
from tasks.pipeline.experiments.dvc_file import target
from tasks.pipeline.experiments.outcome import is_finished
from tasks.pipeline.experiments.plan import nodes_of, plan
from tasks.pipeline.experiments.schedule import ExperimentTask, counts_in, duration, end_of, seconds_left, up_to_date, workers_for
from tasks.pipeline.experiments.spec import Experiment, experiment_names, load_experiment
from tasks.pipeline.node import Node
from tasks.pipeline.places import STATE
from tasks.pipeline.stages import STAGES
from tasks.pipeline.timing import parts_of, usual_seconds
from tasks.reporting.experiment.pages import arms_table
from tasks.reporting.experiment.results import PAGE, RESULTS, Results, read_results
from tasks.reporting.table import Row

ALL = "all"
VERDICT_STYLES = {"confirmed": "green", "refuted": "red", "undecided": "yellow", "not measured": "dim"}


def overview() -> Table:
    """The table of ``list``: one row per experiment."""
    params, current, usual = load_params(), up_to_date(), usual_seconds()
    workers = workers_for(params)
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, caption=f"time with {workers} nodes at once")
    table.add_column("name", no_wrap=True)
    table.add_column("title", min_width=12)
    for column in ("arms", "seeds", "finished", "to run"):
        table.add_column(column)
    table.add_column("time", min_width=len("10 h 59 min"))
    for name in experiment_names():
        experiment = load_experiment(name)
        plans = plan(experiment, params)
        left = [
            ExperimentTask(node.name, node.stage, (), target(node), parts=parts_of(node.stage, node.params(params)))
            for node in nodes_of(plans)
            if node.name not in current
        ]
        done = sum(is_finished(row, current) for row in plans)
        table.add_row(
            name, escape(experiment.title), str(len(experiment.arms)), ",".join(map(str, experiment.seeds)),
            f"{done} of {len(plans)}", str(len(left)), duration(seconds_left(left, usual, workers)),
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


def with_results(experiments: Sequence[Experiment]) -> list[Experiment]:
    """The experiments that have results."""
    return [experiment for experiment in experiments if (experiment.folder / RESULTS).exists()]


def pages(experiments: Sequence[Experiment]) -> str:
    """The committed pages of experiments. Raises :class:`ArtifactError` for one without results."""
    for experiment in experiments:
        read_results(experiment.folder)
    return "\n".join(read_text(experiment.folder / PAGE) for experiment in experiments)


def summary(experiment: Experiment) -> Iterator[RenderableType]:
    """Verdicts, then the arms side by side with a row per metric. Raises :class:`ArtifactError` without results."""
    results = read_results(experiment.folder)
    yield f"[bold]{escape(results.title)}[/]"
    for claim in results.claims:
        verdict, _, rest = claim.sentence.partition(":")
        yield Padding(f"[{VERDICT_STYLES[claim.verdict]}]{escape(verdict)}[/]:{escape(rest)}", (0, 0, 0, 2))
    yield _arms_table(results)
    yield f"Differences, orderings, power and pictures: {experiment.folder / PAGE}\n"


def _arms_table(results: Results) -> Table:
    """The arms as columns, the paper's figures below ours."""
    made = arms_table(results)
    arms: list[tuple[Row, Row | None]] = []
    for row in made.rows:
        if row.kind == "paper":
            arms[-1] = arms[-1][0], row
        else:
            arms.append((row, None))
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("", min_width=12)
    for ours, _ in arms:
        table.add_column(escape(ours.cells[0]))
    for place, heading in enumerate(made.header[1:], start=1):
        table.add_row(escape(heading), *(_with_paper(ours, paper, place) for ours, paper in arms))
    if results.paper_caption:
        table.caption = f"in brackets 95% intervals, below them {escape(results.paper_caption)}"
    return table


def _with_paper(ours: Row, paper: Row | None, place: int) -> str:
    beside = paper.cells[place] if paper and place > 1 else ""
    return escape(ours.cells[place]) + (f"\n[dim]{escape(beside)}[/]" if any(map(str.isdigit, beside)) else "")
