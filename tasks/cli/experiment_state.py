"""What ``fusesearch experiment list`` and ``status`` show, read from the files that are there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from tasks.core.config import Params, load_params
from tasks.pipeline.experiments.current import is_current
from tasks.pipeline.experiments.engine import counts_in, end_of, log_of, workers_for
from tasks.pipeline.experiments.jobs import Job, seconds_left
from tasks.pipeline.experiments.outcome import is_finished
from tasks.pipeline.experiments.plan import ArmPlan, nodes_of, plan
from tasks.pipeline.experiments.spec import Experiment, experiment_names, load_experiment
from tasks.pipeline.layout import STATE
from tasks.pipeline.node import Node
from tasks.pipeline.pipeline import stage_names, stage_outs
from tasks.pipeline.timing import parts_of, usual_seconds

ALL = "all"
State = Literal["main", "made", "begun", "missing"]
SIGNS: dict[State, str] = {"main": "main", "made": "made", "begun": "[yellow]begun[/]", "missing": "-"}


def overview() -> Table:
    """One row per experiment."""
    params = load_params()
    workers = workers_for(params)
    table = Table(
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        caption=f"time: {workers} runs at once, as `fusesearch experiment run` has it unless told otherwise",
    )
    table.add_column("name", no_wrap=True)
    table.add_column("title", min_width=12)
    for column in ("arms", "seeds", "finished", "to make"):
        table.add_column(column)
    table.add_column("time", min_width=len("10 h 59 min"))
    for name in experiment_names():
        experiment = load_experiment(name)
        plans = plan(experiment, params)
        left = [node for node in nodes_of(plans) if state_of(node, params) in ("begun", "missing")]
        done = sum(is_finished(row, params) for row in plans)
        table.add_row(
            name, escape(experiment.title), str(len(experiment.arms)), ",".join(map(str, experiment.seeds)),
            f"{done} of {len(plans)}", str(len(left)), about(left, params, workers),
        )  # fmt: skip
    return table


def chosen(names: Iterable[str]) -> list[Experiment]:
    """The experiments of these names, each once; ``all`` is every one. Raises :class:`ConfigError` for one that is none."""
    names = list(names)
    return [load_experiment(name) for name in (experiment_names() if ALL in names else dict.fromkeys(names))]


def states(experiment: Experiment) -> Table:
    """One row per arm and seed, one column per stage; the stages that are one run for all are in the caption."""
    params = load_params()
    plans = plan(experiment, params)
    stages = [stage for stage in stage_names() if any(stage in row.nodes for row in plans)]
    own = [stage for stage in stages if any(row.nodes.get(stage) != plans[0].nodes.get(stage) for row in plans)]
    shared = ", ".join(f"{stage} {_cell(plans[0], stage, params)}" for stage in stages if stage not in own)
    table = Table(box=SIMPLE_HEAD, title=experiment.name)
    table.add_column("arm", min_width=max(len(experiment.label(row.arm)) for row in plans))
    for column in ("seed", *(stage.replace("_", " ") for stage in own)):
        table.add_column(column)
    for row in plans:
        table.add_row(escape(experiment.label(row.arm)), str(row.seed), *(_cell(row, stage, params) for stage in own))
    table.caption = (
        f"{f'for all: {shared}' if shared else ''}\n"
        "main: the main pipeline's · made: a run of its own · -: to be made\n"
        "begun: goes on where it stopped; 12 of 50: begun, and so far it has come"
    ).strip()
    return table


def state_of(node: Node, params: Params) -> State:
    """Whether the files of a run are there, made with these params. Whether code or inputs have changed only DVC can say."""
    outs = [node.places.of(node.stage, out) for out, stage in stage_outs().items() if stage == node.stage]
    if all(out.exists() for out in outs) and (node.id or is_current(node.stage, params)):
        return "made" if node.id else "main"
    return "begun" if any(_unfinished(node)) else "missing"


def counts_of(node: Node) -> tuple[int, int] | None:
    """Rows done and rows in all of a run that has begun, as its log says; None where the log is of an earlier process."""
    log, begun = log_of(node.name), [path / "runs.json" for path in _unfinished(node)]
    last = max((path.stat().st_mtime for path in begun if path.exists()), default=None)
    return counts_in(end_of(log)) if last is not None and log.exists() and log.stat().st_mtime >= last else None


def _unfinished(node: Node) -> Iterator[Path]:
    return (STATE / "progress").glob(f"{node.name}-{'?' * 16}")


def about(nodes: list[Node], params: Params, workers: int) -> str:
    """How long the runs take, so many at once, if this machine knows. ``params`` are those of the main pipeline."""
    jobs = [Job(node.name, node.stage, (), parts=parts_of(node.stage, node.params(params))) for node in nodes]
    return duration(seconds_left(jobs, usual_seconds(), workers))


def duration(seconds: float | None) -> str:
    """``2 h 05 min``; empty when it is not known."""
    if seconds is None:
        return "not known yet"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min" if minutes else f"{seconds:.0f} s"


def _cell(row: ArmPlan, stage: str, params: Params) -> str:
    node = row.nodes.get(stage)
    if node is None:
        return ""
    state = state_of(node, params)
    counts = counts_of(node) if state == "begun" else None
    return f"[yellow]{counts[0]} of {counts[1]}[/]" if counts else SIGNS[state]
