"""Let the teacher make candidate trajectories."""

from typing import Any

from prefect import flow, task

from flows.failures import watched
from flows.fan_out import fan_out
from flows.stage import RETRIED, Stage, run_node, stage
from tasks.pipeline.node import Node
from tasks.pipeline.stages.synthesis import synthesize_candidates


@task(name="run teacher", **RETRIED)
def run_teacher(current: Stage) -> dict[str, Any]:
    """Several guided episodes per instance."""
    return synthesize_candidates(current.params, current.places, current.scratch, current.progress)


@flow(name="synthesize", **watched("synthesize"))
def synthesize_flow(node: Node | None = None) -> dict[str, Any]:
    """The sft split to ``data/synthesized``."""
    with stage("synthesize", node) as current:
        fan_out(current)
        current.metrics = run_teacher(current)
    return current.metrics


if __name__ == "__main__":
    run_node("synthesize", synthesize_flow)
