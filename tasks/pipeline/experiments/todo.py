"""What is left to do of experiments: the one question that the command line and Prefect's flow ask before they run anything."""

from __future__ import annotations

from collections.abc import Sequence

from tasks.core.config import load_params
from tasks.core.errors import ConfigError
from tasks.pipeline.experiments.dvc_file import write_dvc_file
from tasks.pipeline.experiments.figures import check_figures
from tasks.pipeline.experiments.jobs import Job, jobs_of, outdated
from tasks.pipeline.experiments.paper import paper_figures
from tasks.pipeline.experiments.plan import plan
from tasks.pipeline.experiments.spec import FILE, Experiment
from tasks.reporting.columns import column


def left_to_do(experiments: Sequence[Experiment], seeds: Sequence[int] | None = None) -> tuple[list[Job], int]:
    """The jobs that DVC would run, each after those it needs, and how many there are in all.

    ``experiments/dvc.yaml`` is written first if it is not fresh. Raises what :func:`check` raises.
    """
    for experiment in experiments:
        check(experiment, seeds)
    params = load_params()
    write_dvc_file()
    jobs = jobs_of([(row, plan(row, params, seeds)) for row in experiments], params)
    changed = outdated(jobs)
    return [job for job in jobs if job.name in changed], len(jobs)


def check(experiment: Experiment, seeds: Sequence[int] | None = None) -> None:
    """Refuse what would be found out only when results are written, after hours.

    Raises :class:`ConfigError` for a seed that the experiment lacks, an unknown metric or figure, or a row that the paper's
    table lacks, :class:`ArtifactError` where there is no such table.
    """
    _check_seeds(experiment, seeds)
    for metric in experiment.metrics:
        column(metric)
    check_figures(experiment)
    paper_figures(experiment)


def _check_seeds(experiment: Experiment, seeds: Sequence[int] | None) -> None:
    if unknown := set(seeds or []) - set(experiment.seeds):
        path = experiment.folder / FILE
        raise ConfigError(f"seed {', '.join(map(str, sorted(unknown)))} is not among the seeds of {path}: add it there")
