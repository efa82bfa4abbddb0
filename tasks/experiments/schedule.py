"""What has to run for experiments: nodes and stages of the main pipeline, which DVC runs, and the results of each experiment."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from fusesearch.core.config import Params, load_params
from fusesearch.core.errors import ConfigError
from fusesearch.evaluation.metrics import metric_named
from fusesearch.reporting.experiment.results import RESULTS, check_figures, read_results
from tasks.experiments.dvc_file import target
from tasks.experiments.outcome import ArmRun, outcomes, scores_digest
from tasks.experiments.paper import paper_figures
from tasks.experiments.plan import ArmPlan, built_on, nodes_of, plan
from tasks.experiments.spec import FILE, Experiment
from tasks.running.dvc_command import up_to_date
from tasks.running.node import Node
from tasks.running.places import STATE
from tasks.stages import STAGES

LOGS = STATE / "experiments"


@dataclass
class ExperimentTask:
    """A node, a stage of the main pipeline, or the results of an experiment.

    ``needs`` names the tasks it waits for, ``users`` the arms it is for. ``target`` is its name in DVC, empty for results.
    """

    name: str
    stage: str
    needs: tuple[str, ...]
    target: str = ""
    users: list[str] = field(default_factory=list)

    @property
    def log(self) -> Path:
        """The output of its last run."""
        return LOGS / f"{self.name}.log"


def check(experiment: Experiment, seeds: Sequence[int] | None = None) -> None:
    """Find mistakes that would otherwise fail only when results are written, after hours.

    Raises :class:`ConfigError` for an experiment that is finished, a seed that it lacks, an unknown metric or figure, or a row
    that the paper's table lacks, :class:`ArtifactError` if the table is missing.
    """
    if experiment.finished:
        raise ConfigError(f"{experiment.name} is finished: its params and code are those of `git checkout {experiment.finished}`")
    if unknown := set(seeds or []) - set(experiment.seeds):
        path = experiment.folder / FILE
        raise ConfigError(f"seed {', '.join(map(str, sorted(unknown)))} is not among the seeds of {path}: add it there")
    for metric in experiment.metrics:
        metric_named(metric)
    check_figures(experiment.figures)
    paper_figures(experiment)


def pending_tasks(experiments: Sequence[Experiment], seeds: Sequence[int] | None = None) -> tuple[list[ExperimentTask], int]:
    """The tasks that have to run, each after the tasks it needs, and the number of all tasks. Raises what :func:`check` raises.

    DVC knows which nodes are up to date. Results are up to date if they were made from the current scores.
    """
    for experiment in experiments:
        check(experiment, seeds)
    params = load_params()
    tasks = tasks_of([(row, plan(row, params, seeds)) for row in experiments], params)
    current = up_to_date()
    stale = {task.name for task in tasks if task.target and task.name not in current}
    stale |= {f"results-{row.name}" for row in experiments if not _has_results(row, outcomes(row, current))}
    due = with_dependents(tasks, stale)
    return [task for task in tasks if task.name in due], len(tasks)


def _has_results(experiment: Experiment, runs: Sequence[ArmRun]) -> bool:
    path = experiment.folder / RESULTS
    if not path.exists() or path.stat().st_mtime < (experiment.folder / FILE).stat().st_mtime:
        return False
    return read_results(experiment.folder).inputs == scores_digest(runs)


def tasks_of(planned: Iterable[tuple[Experiment, Sequence[ArmPlan]]], params: Params) -> list[ExperimentTask]:
    """The tasks of experiments, each once and after the tasks it needs. ``params`` are the main pipeline's.

    One experiment comes whole before the next, so that its results do not wait for others. Within an experiment the order is
    the pipeline's.
    """
    found: dict[str, ExperimentTask] = {}
    order = list(STAGES)
    for experiment, plans in planned:
        own: dict[str, ExperimentTask] = {}
        for node in nodes_of(plans):
            _add(node, params, own, found)
        for row in plans:
            for node in row.nodes.values():
                (own.get(node.name) or found[node.name]).users.append(f"{experiment.label(row.arm)}, seed {row.seed}")
        found |= {task.name: task for task in sorted(own.values(), key=lambda task: order.index(task.stage))}
        needs = tuple(node.name for node in nodes_of(plans))
        results = ExperimentTask(f"results-{experiment.name}", "results", needs, users=[experiment.name])
        found[results.name] = results
    return list(found.values())


def _add(node: Node, params: Params, own: dict[str, ExperimentTask], found: Container[str]) -> None:
    """Add the task of a node, and of the main pipeline's stages that it needs and no arm names."""
    if node.name in own or node.name in found:
        return
    needs = built_on(node, params)
    own[node.name] = ExperimentTask(node.name, node.stage, tuple(needs), target(node))
    for stage in set(needs) & set(STAGES):
        _add(Node(stage=stage), params, own, found)


def with_dependents(tasks: Iterable[ExperimentTask], names: Container[str]) -> set[str]:
    """Names of the ``tasks`` that are among ``names``, or need such a task. Every task comes after the tasks it needs."""
    found: set[str] = set()
    for task in tasks:
        if task.name in names or found.intersection(task.needs):
            found.add(task.name)
    return found


@contextmanager
def experiments_lock(wait: bool = False) -> Iterator[None]:
    """Allow one process at a time to run experiments in this working copy. The same process may enter again.

    Raises :class:`ConfigError` if another process has the lock, unless ``wait``.
    """
    LOGS.mkdir(parents=True, exist_ok=True)
    lock = FileLock(LOGS / ".lock", is_singleton=True)
    try:
        lock.acquire(timeout=-1 if wait else 0)
    except Timeout:
        raise ConfigError("experiments are already running here: wait for them, or stop them") from None
    try:
        yield
    finally:
        lock.release()
