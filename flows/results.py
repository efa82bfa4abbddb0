"""What an experiment came to: ``python -m flows.results NAME``, over the runs that are finished."""

import sys

from prefect import flow, task
from prefect.artifacts import create_markdown_artifact
from tasks.experiments.results import Results, write_results

from flows.stage import ONCE, run_stage
from tasks.core.config import load_params
from tasks.core.errors import ArtifactError, ConfigError
from tasks.core.layout import EXPERIMENTS
from tasks.core.storage import read_text
from tasks.experiments.outcome import ArmRun, outcomes
from tasks.experiments.spec import Experiment, load_experiment
from tasks.tracking.experiments import arm_run, experiment_run, log_results


@task(name="write results", **ONCE)
def write(name: str) -> str:
    """Table, tests, verdicts and figures beside the experiment's file; its arms in MLflow. Returns the sentence of result."""
    experiment = load_experiment(name)
    runs = outcomes(experiment)
    if not runs:
        raise ArtifactError(f"no arm of {name} is finished: run `fusesearch experiment run {name}`")
    results = write_results(experiment, runs)
    record(experiment, runs, results)
    return results.summary


def record(experiment: Experiment, runs: list[ArmRun], results: Results) -> None:
    """A parent run in MLflow with a child per arm and seed; what is recorded already stays as it is."""
    about = f"{experiment.question}\n\n{experiment.hypothesis}"
    with experiment_run(
        experiment.name, profile=load_params().profile, title=experiment.title, description=about, values=experiment.set
    ) as parent:
        for run in runs:
            arm = experiment.arms[run.arm]
            arm_run(
                parent, run.arm, run.seed, nodes=run.nodes, values=arm.set, scores=run.scores, trajectories=run.trajectories,
                curves=run.curves, stage=arm.checkpoint, label=experiment.label(run.arm),
            )  # fmt: skip
        log_results(parent, experiment.folder, {}, results.summary)


@flow(name="results", flow_run_name="results of {name}")
def results_flow(name: str) -> str:
    """Scores of an experiment's arms to tables beside its file, and to MLflow. Returns the sentence of result."""
    summary = write(name)
    page = read_text(EXPERIMENTS / name / "RESULTS.md")
    create_markdown_artifact(page, key=f"results-{name.replace('_', '-')}", description=f"Experiment {name}")
    return summary


def _name(arguments: list[str]) -> str:
    if len(arguments) != 1:
        raise ConfigError("usage: python -m flows.results NAME")
    return arguments[0]


if __name__ == "__main__":
    run_stage(lambda: results_flow(_name(sys.argv[1:])))
