"""Mine raw pairs of issue and patch."""

from typing import Any

from prefect import flow, task
from prefect.artifacts import create_table_artifact

from flows.failures import watched
from flows.stage import RETRIED, Stage, run_node, show_drops, stage
from tasks.core.storage import read_json
from tasks.pipeline.node import Node
from tasks.pipeline.stages.mining import mine


@task(name="mine pairs", **RETRIED)
def mine_pairs(current: Stage) -> dict[str, Any]:
    """Plant faults, or read what a source has that was not read before."""
    return mine(current.params, current.places, current.scratch, current.progress)


@flow(name="mine", **watched("mine"))
def mine_flow(node: Node | None = None) -> dict[str, Any]:
    """Sources to ``data/raw`` and ``data/repos``."""
    with stage("mine", node) as current:
        current.metrics = mine_pairs(current)
        table = read_json(current.places.mine_table)
        show_drops("mine-drops", table["dropped"], "What was looked at and is no pair, by reason")
        _show(table)
    return current.metrics


def _show(table: dict[str, Any]) -> None:
    """Mutants by kind for the synthetic source, repositories for the others."""
    if "kinds" in table:
        kinds = [{"kind": kind, **counts} for kind, counts in table["kinds"].items()]
        create_table_artifact(table=kinds, key="mine-kinds", description="Mutants by kind")
    else:
        create_table_artifact(table=table["repositories"], key="mine-repositories", description="Pairs by repository")


if __name__ == "__main__":
    run_node("mine", mine_flow)
