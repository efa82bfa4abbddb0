"""Score every arm on the held-out instances."""

from typing import Any

from prefect import flow, task

from flows.failures import watched
from flows.fan_out import fan_out
from flows.stage import ONCE, RETRIED, Stage, run_node, stage
from tasks.core.schema import Score
from tasks.core.storage import read_jsonl
from tasks.pipeline.layout import TRAINED_BY
from tasks.pipeline.node import Node
from tasks.pipeline.stages.evaluation import evaluate_arms
from tasks.pipeline.tracking.episodes import log_arms
from tasks.pipeline.tracking.registry import model_name


@task(name="run arms", **RETRIED)
def run_arms(current: Stage) -> dict[str, Any]:
    """Base, RL without SFT, SFT, SFT+RL and the lexical localizer; each a run of its own in MLflow."""

    def log_arm(name: str, figures: dict[str, Any]) -> None:
        with current.run.arm(name) as run:
            run.log(figures)

    return evaluate_arms(current.params, current.places, current.scratch, current.progress, log_arm)


@task(name="record arms", **ONCE)
def record_arms(current: Stage) -> None:
    """Rows per instance and some episodes of every arm in MLflow; the main pipeline's checkpoints contend for the champion."""
    runs = log_arms(current.run, read_jsonl(current.places.scores, Score), current.places.trajectories)
    if "base" in runs and not current.node.id:
        contenders = {current.places.checkpoint(made): runs[arm] for arm, made in TRAINED_BY.items() if arm in runs}
        current.run.contend(model_name(current.params.profile), contenders, runs["base"])


@flow(name="evaluate", **watched("evaluate"))
def evaluate_flow(node: Node | None = None) -> dict[str, Any]:
    """Checkpoints and the validation split to ``artifacts/evaluate``."""
    with stage("evaluate", node) as current:
        fan_out(current)
        current.metrics = run_arms(current)
        record_arms(current)
    return current.metrics


if __name__ == "__main__":
    run_node("evaluate", evaluate_flow)
