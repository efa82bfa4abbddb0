"""Score every arm on the held-out instances."""

from typing import Any

from prefect import flow, task

from flows.stage import RETRIED, Stage, run_stage, stage
from tasks.core import layout
from tasks.stages.evaluation import evaluate_arms


@task(name="run arms", **RETRIED)
def run_arms(current: Stage) -> dict[str, Any]:
    """Base, RL without SFT, SFT, SFT+RL and the lexical localizer; each a run of its own in MLflow."""

    def log_arm(name: str, figures: dict[str, Any]) -> None:
        with current.run.arm(name) as run:
            run.log(figures)

    return evaluate_arms(current.params, current.scratch, current.progress, log_arm)


@flow(name="evaluate")
def evaluate_flow() -> dict[str, Any]:
    """Checkpoints and the validation split to ``artifacts/evaluate``."""
    with stage("evaluate") as current:
        current.metrics = run_arms(current)
        current.run.log_file(layout.SCORES)
    return current.metrics


if __name__ == "__main__":
    run_stage(evaluate_flow)
