"""Divide instances by repository into sft, rl and validation."""

from typing import Any

from prefect import flow, task
from prefect.artifacts import create_markdown_artifact

from flows.failures import watched
from flows.stage import ONCE, Stage, run_node, stage
from tasks.core.storage import read_text
from tasks.pipeline.node import Node
from tasks.pipeline.stages.splitting import split_instances


@task(name="split by repository", **ONCE)
def split_by_repository(current: Stage) -> dict[str, Any]:
    """Assign every repository to one split."""
    return split_instances(current.params, current.places, current.scratch, current.progress)


@flow(name="split", **watched("split"))
def split_flow(node: Node | None = None) -> dict[str, Any]:
    """``data/filtered`` to ``data/splits`` and the data card."""
    with stage("split", node) as current:
        current.metrics = split_by_repository(current)
        create_markdown_artifact(
            read_text(current.places.card / "card.md"), key="data-card", description="What the data set holds"
        )
    return current.metrics


if __name__ == "__main__":
    run_node("split", split_flow)
