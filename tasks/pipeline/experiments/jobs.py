"""What experiments need, as jobs: a node or a stage of the main pipeline that DVC runs, and the results of each experiment."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from tasks.core.config import Params
from tasks.core.errors import ConfigError
from tasks.pipeline.experiments.dvc_file import target
from tasks.pipeline.experiments.plan import ArmPlan, nodes_of, upstream
from tasks.pipeline.experiments.spec import Experiment
from tasks.pipeline.node import Node
from tasks.pipeline.places import STATE
from tasks.pipeline.stages import STAGES
from tasks.pipeline.timing import parts_of

LOGS = STATE / "experiments"
LOG_BYTES = 20_000
"""How much of the end of a log is read."""

JOB_BYTES = 3_000_000_000
"""Memory of one job besides what its model takes: PyTorch, the trainer, a batch of nano's episodes."""

_COUNTS = re.compile(r"(\d+) of (\d+)\s*$", re.M)


@dataclass
class Job:
    """``needs`` are the names of the jobs it waits for; ``users`` says which arms it is for.

    ``target`` is the name that DVC knows it by; the results of an experiment have none. ``parts`` is the number of its
    parts that take as long as usual each: the main pipeline evaluates all of its arms.
    """

    name: str
    stage: str
    needs: tuple[str, ...]
    target: str = ""
    users: list[str] = field(default_factory=list)
    parts: int = 1

    @property
    def log(self) -> Path:
        """What it printed when it was last run."""
        return LOGS / f"{self.name}.log"


def results_name(experiment: Experiment) -> str:
    """The name of the job that writes an experiment's results."""
    return f"results-{experiment.name}"


def jobs_of(planned: Iterable[tuple[Experiment, Sequence[ArmPlan]]], params: Params) -> list[Job]:
    """The jobs of experiments, each once and after those it needs. ``params`` are those of the main pipeline.

    An experiment comes whole before the next one, so that its results do not wait for others. Its jobs are in the order of the
    pipeline: a task runner that starts them in this order seldom meets one that still has to wait.
    """
    found: dict[str, Job] = {}
    order = list(STAGES)
    for experiment, plans in planned:
        own: dict[str, Job] = {}
        for node in nodes_of(plans):
            _add(node, params, own, found)
        for row in plans:
            for node in row.nodes.values():
                (own.get(node.name) or found[node.name]).users.append(f"{experiment.label(row.arm)}, seed {row.seed}")
        found |= {job.name: job for job in sorted(own.values(), key=lambda job: order.index(job.stage))}
        needs = tuple(node.name for node in nodes_of(plans))
        name = results_name(experiment)
        found[name] = Job(name, "results", needs, users=[experiment.name])
    return list(found.values())


def _add(node: Node, params: Params, own: dict[str, Job], found: Container[str]) -> None:
    """Add the job of a run, and those of the main pipeline's stages that it needs and no arm names."""
    if node.name in own or node.name in found:
        return
    changed = node.params(params)
    ups = [node.origins[stage].name if stage in node.origins else stage for stage in upstream(node.stage, changed)]
    own[node.name] = Job(node.name, node.stage, tuple(ups), target(node), parts=parts_of(node.stage, changed))
    for stage in set(ups) & set(STAGES):
        _add(Node(stage=stage), params, own, found)


def with_dependents(jobs: Iterable[Job], names: Container[str]) -> set[str]:
    """Those of ``jobs`` (each after those it needs) that are among ``names``, or need one of them."""
    found: set[str] = set()
    for job in jobs:
        if job.name in names or found.intersection(job.needs):
            found.add(job.name)
    return found


def up_to_date() -> set[str]:
    """Names of the nodes and of the main pipeline's stages that DVC would not run for what they themselves read.

    A run that another process is making is not among them.
    """
    from dvc.lock import LockError
    from dvc.repo import Repo

    found = set()
    with Repo(_wait_for_lock=True) as repo, repo.lock:
        for stage in repo.index.stages:
            try:
                if not stage.status():
                    found.add(stage.name.rpartition("@")[2])
            except LockError:  # held by the process that runs it
                continue
    return found


@contextmanager
def alone(wait: bool = False) -> Iterator[None]:
    """Inside the block no other process runs experiments in this working copy. A process may enter it again.

    Raises :class:`ConfigError` if another process is inside and we do not ``wait`` for it.
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


def workers_for(params: Params) -> int:
    """How many nodes to run at once by default: two where cores and memory allow it and no GPU is in use, else one."""
    import psutil

    base = Path(params.model.base)
    if params.grpo.rollouts == "vllm" or not base.is_dir():
        return 1
    weights = sum(path.stat().st_size for path in base.rglob("*") if path.is_file())
    needed = JOB_BYTES + 16 * weights
    return max(1, min(2, os.cpu_count() or 1, psutil.virtual_memory().available // needed))


def job_seconds(job: Job, usual: Mapping[str, float]) -> float | None:
    """About how long a job takes; None if its stage never ran here."""
    one = usual.get(job.stage, 0.0 if job.stage == "results" else None)
    return None if one is None else one * job.parts


def seconds_left(jobs: Iterable[Job], usual: Mapping[str, float], workers: int = 1) -> float | None:
    """About how long ``jobs`` take with so many at once; None while a stage among them never ran here."""
    rows = [job_seconds(job, usual) for job in jobs]
    return None if None in rows else sum(value or 0.0 for value in rows) / workers


def duration(seconds: float | None) -> str:
    """``2 h 05 min``."""
    if seconds is None:
        return "not known yet"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min" if minutes else f"{seconds:.0f} s"


def end_of(log: Path) -> str:
    """The last lines of a log."""
    with log.open("rb") as handle:
        handle.seek(max(0, log.stat().st_size - LOG_BYTES))
        return handle.read().decode("utf-8", errors="replace")


def counts_in(text: str) -> tuple[int, int] | None:
    """Rows done and rows in all as a stage last printed them."""
    found = _COUNTS.findall(text)
    return (int(found[-1][0]), int(found[-1][1])) if found else None
