"""What is left to do of experiments: what the command line and Prefect's flow ask before they run anything."""

from __future__ import annotations

from collections.abc import Sequence

from tasks.core.config import load_params
from tasks.core.errors import ConfigError
from tasks.evaluation.metrics import metric_named
from tasks.pipeline.experiments.jobs import Job, jobs_of, results_name, up_to_date, with_dependents
from tasks.pipeline.experiments.outcome import ArmRun, outcomes, scores_digest
from tasks.pipeline.experiments.paper import paper_figures
from tasks.pipeline.experiments.plan import plan
from tasks.pipeline.experiments.spec import FILE, Experiment
from tasks.reporting.experiment.figures import check_figures
from tasks.reporting.experiment.results import RESULTS, read_results


def left_to_do(experiments: Sequence[Experiment], seeds: Sequence[int] | None = None) -> tuple[list[Job], int]:
    """The jobs that have to run, each after those it needs, and how many there are in all. Raises what :func:`check` raises.

    DVC says which nodes are up to date; results are if they were made of the scores that are there.
    """
    for experiment in experiments:
        check(experiment, seeds)
    params = load_params()
    jobs = jobs_of([(row, plan(row, params, seeds)) for row in experiments], params)
    current = up_to_date()
    stale = {job.name for job in jobs if job.target and job.name not in current}
    stale |= {results_name(row) for row in experiments if not _has_results(row, outcomes(row, current))}
    due = with_dependents(jobs, stale)
    return [job for job in jobs if job.name in due], len(jobs)


def _has_results(experiment: Experiment, runs: Sequence[ArmRun]) -> bool:
    path = experiment.folder / RESULTS
    if not path.exists() or path.stat().st_mtime < (experiment.folder / FILE).stat().st_mtime:
        return False
    return read_results(experiment.folder).inputs == scores_digest(runs)


def check(experiment: Experiment, seeds: Sequence[int] | None = None) -> None:
    """Refuse what would otherwise fail only when results are written, after hours.

    Raises :class:`ConfigError` for a seed that the experiment lacks, an unknown metric or figure, or a row that the paper's
    table lacks, :class:`ArtifactError` if there is no such table.
    """
    if unknown := set(seeds or []) - set(experiment.seeds):
        path = experiment.folder / FILE
        raise ConfigError(f"seed {', '.join(map(str, sorted(unknown)))} is not among the seeds of {path}: add it there")
    for metric in experiment.metrics:
        metric_named(metric)
    check_figures(experiment.figures)
    paper_figures(experiment)
