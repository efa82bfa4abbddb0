"""What an experiment came to: ``python -m flows.results NAME``, over the runs that are finished."""

import sys
from collections.abc import Mapping
from typing import Any

from prefect import flow, task
from prefect.artifacts import create_markdown_artifact

from flows.failures import explained, read_by_experiment
from flows.stage import ONCE, run_stage
from tasks.core.config import load_params
from tasks.core.errors import ConfigError
from tasks.core.storage import read_text
from tasks.pipeline.experiments.mlflow_runs import record
from tasks.pipeline.experiments.outcome import outcomes
from tasks.pipeline.experiments.results import PAGE, write_results
from tasks.pipeline.experiments.spec import load_experiment
from tasks.pipeline.layout import EXPERIMENTS


@task(name="write results", **ONCE)
def write(name: str) -> str:
    """Table, tests, verdicts and figures beside the experiment's file; its arms in MLflow. Returns the sentence of result."""
    experiment = load_experiment(name)
    runs = outcomes(experiment)
    results = write_results(experiment, runs)
    record(experiment, runs, results, load_params())
    return results.summary


def _again(parameters: Mapping[str, Any]) -> str:
    return f"`fusesearch experiment run {parameters.get('name')}`"


@flow(name="results", flow_run_name="results of {name}", **explained("results", _again, read_by_experiment))
def results_flow(name: str) -> str:
    """Scores of an experiment's arms to tables beside its file, and to MLflow. Returns the sentence of result."""
    summary = write(name)
    page = read_text(EXPERIMENTS / name / PAGE)
    create_markdown_artifact(page, key=f"results-{name.replace('_', '-')}", description=f"Experiment {name}")
    return summary


def _name(arguments: list[str]) -> str:
    if len(arguments) != 1:
        raise ConfigError("usage: python -m flows.results NAME")
    return arguments[0]


if __name__ == "__main__":
    run_stage(lambda: results_flow(_name(sys.argv[1:])))
