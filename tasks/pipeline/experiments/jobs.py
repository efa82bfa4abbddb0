"""What has to be done for experiments, as jobs that wait for one another: runs of stages, and results at the end."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tasks.core.config import Params
from tasks.pipeline.dvc_command import PATIENCE, Busy, dvc
from tasks.pipeline.experiments.dvc_file import CODE, TARGET, results_stage
from tasks.pipeline.experiments.plan import PIPELINE, ArmPlan, built_on, nodes_of
from tasks.pipeline.experiments.spec import FILE, Experiment
from tasks.pipeline.layout import EXPERIMENTS, NODES
from tasks.pipeline.node import Node
from tasks.pipeline.pipeline import stage_names
from tasks.pipeline.places import MAIN
from tasks.pipeline.timing import parts_of

logger = logging.getLogger(__name__)

Planned = tuple[Experiment, Sequence[ArmPlan]]
"""An experiment and its runs, with all of its seeds or some."""


@dataclass
class Job:
    """One stage of DVC. ``needs`` are the names of the jobs it waits for; ``users`` says which arms it is for.

    ``parts`` is of how many parts it is that each take as long as usual: the main pipeline evaluates all of its arms.
    """

    name: str
    stage: str
    needs: tuple[str, ...]
    users: list[str] = field(default_factory=list)
    main: bool = False
    part: str = ""
    parts: int = 1

    @property
    def target(self) -> str:
        """How DVC is told it."""
        return self.name if self.main else f"{TARGET}:{self.name}"

    @property
    def command(self) -> list[str]:
        """What runs it: DVC; but results over some of the seeds, which no stage stands for, are only written."""
        if self.part:
            return [sys.executable, "-m", "flows.results", self.part]
        return [sys.executable, "-m", "dvc", "--wait-for-lock", "repro", "--single-item", self.target]


def jobs_of(planned: Iterable[Planned], params: Params) -> list[Job]:
    """The jobs of experiments, each after those it needs; an experiment's results before what only later experiments need.

    ``params`` are those of the main pipeline.
    """
    found: dict[str, Job] = {}
    for experiment, plans in planned:
        for row in plans:
            for node in row.nodes.values():
                _add(node, params, found)
                found[node.name].users.append(f"{experiment.label(row.arm)}, seed {row.seed}")
        job = _results(experiment, plans)
        found[job.name] = job
    return list(found.values())


def _results(experiment: Experiment, plans: Sequence[ArmPlan]) -> Job:
    whole = {row.seed for row in plans} == set(experiment.seeds)
    needs = tuple(node.name for node in nodes_of(plans))
    return Job(results_stage(experiment.name), "results", needs, [experiment.name], part="" if whole else experiment.name)


def _add(node: Node, params: Params, found: dict[str, Job]) -> None:
    """Add the job of a run, and before it the stages of the main pipeline that it needs and no arm names."""
    if node.name in found:
        return
    needs = tuple(built_on(node, params))
    for need in needs:
        if need not in found and need in stage_names(PIPELINE):
            _add(Node(stage=need), params, found)
    parts = parts_of(node.stage, node.params(params))
    found[node.name] = Job(node.name, node.stage, needs, main=not node.id, parts=parts)


def outdated(jobs: Sequence[Job]) -> set[str]:
    """Names of the jobs that DVC would run, and of all that need one of them. Raises :class:`DataError` when DVC cannot say."""
    asked = {job.name: job.target for job in jobs if not job.part}
    changed = {_name(key) for key in json.loads(_status(list(asked.values())) or "{}")} & asked.keys()
    return with_dependents(jobs, changed | {job.name for job in jobs if job.part and _is_older(job)})


def _status(targets: list[str]) -> str:
    """DVC reads the whole file again for each target, 50 times for an experiment: so it is asked for all stages there are.

    It says nothing of any stage while another process is at one of them; then the targets are named. If it is at one of
    those, a deployment for example, it is waited for.
    """
    for which in ((), targets):
        with suppress(Busy):
            return dvc("status", "--json", *which, tries=1)
    logger.warning("waits, an hour at most: another process runs a stage that is needed, or reads what it made")
    return dvc("status", "--json", *targets, tries=PATIENCE)


def with_dependents(jobs: Iterable[Job], names: set[str]) -> set[str]:
    """``names`` and those of all jobs that need one of them; ``jobs`` are in order."""
    found: set[str] = set()
    for job in jobs:
        if job.name in names or found.intersection(job.needs):
            found.add(job.name)
    return found


def job_seconds(job: Job, usual: Mapping[str, float]) -> float | None:
    """About how long a job takes; None if its stage never ran here."""
    one = usual.get(job.stage, 0.0 if job.stage == "results" else None)
    return None if one is None else one * job.parts


def seconds_left(jobs: Iterable[Job], usual: Mapping[str, float], workers: int = 1) -> float | None:
    """About how long ``jobs`` take with so many at once; None while a stage among them never ran here."""
    rows = [job_seconds(job, usual) for job in jobs]
    return None if None in rows else sum(value or 0.0 for value in rows) / workers


def _is_older(job: Job) -> bool:
    """Whether results over some of the seeds are missing, or older than a score they are made of or what makes them."""
    results = EXPERIMENTS / job.part / "results.json"
    scores = [
        NODES / need / MAIN.scores.name if "-" in need else MAIN.scores for need in job.needs if need.startswith("evaluate")
    ]
    code = [path for name in CODE for path in (Path(name), *Path(name).glob("**/*.*")) if "__pycache__" not in path.parts]
    made_of = [*scores, EXPERIMENTS / job.part / FILE, *code]
    return not results.exists() or any(path.is_file() and path.stat().st_mtime > results.stat().st_mtime for path in made_of)


def _name(key: str) -> str:
    return key.rpartition(":")[2]
