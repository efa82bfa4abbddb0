"""Keep the raw pairs that are worth a task, with their truth."""

from typing import Any

from prefect import flow, task

from flows.failures import watched
from flows.stage import ONCE, Stage, run_node, show_drops, stage
from tasks.core.storage import read_json
from tasks.pipeline.node import Node
from tasks.pipeline.stages.filtering import filter_pairs


@task(name="apply rules", **ONCE)
def apply_rules(current: Stage) -> dict[str, Any]:
    """Drop what the rules say; compute the truth of the rest."""
    return filter_pairs(current.params, current.places, current.scratch, current.progress)


@flow(name="filter", **watched("filter"))
def filter_flow(node: Node | None = None) -> dict[str, Any]:
    """``data/raw`` to ``data/filtered``."""
    with stage("filter", node) as current:
        current.metrics = apply_rules(current)
        show_drops("filter-drops", read_json(current.places.filter_drops), "Pairs dropped, by rule")
    return current.metrics


if __name__ == "__main__":
    run_node("filter", filter_flow)
