"""Score every arm on the held-out instances."""

from typing import Any

from prefect import flow, task

from flows.failures import watched
from flows.fan_out import fan_out
from flows.stage import RETRIED, Stage, run_node, stage
from tasks.pipeline.node import Node
from tasks.pipeline.stages.evaluation import evaluate_arms


@task(name="run arms", **RETRIED)
def run_arms(current: Stage) -> dict[str, Any]:
    """Base, RL without SFT, SFT, SFT+RL and the lexical localizer; each a run of its own in MLflow."""
    return evaluate_arms(current.params, current.places, current.scratch, current.progress)


@flow(name="evaluate", **watched("evaluate"))
def evaluate_flow(node: Node | None = None) -> dict[str, Any]:
    """Checkpoints and the validation split to ``artifacts/evaluate``."""
    with stage("evaluate", node) as current:
        fan_out(current)
        current.metrics = run_arms(current)
    return current.metrics


if __name__ == "__main__":
    run_node("evaluate", evaluate_flow)
