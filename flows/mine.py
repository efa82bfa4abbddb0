"""Mine raw pairs of issue and patch."""

from typing import Any

from prefect import flow, task
from prefect.artifacts import create_table_artifact

from flows.stage import RETRIED, Stage, run_stage, show_drops, stage
from tasks.core import layout
from tasks.core.storage import read_json
from tasks.stages.mining import mine


@task(name="mine pairs", **RETRIED)
def mine_pairs(current: Stage) -> dict[str, Any]:
    """Plant faults, keep those a doctest observes."""
    return mine(current.params, current.scratch, current.progress)


@flow(name="mine")
def mine_flow() -> dict[str, Any]:
    """Sources to ``data/raw`` and ``data/repos``."""
    with stage("mine") as current:
        current.metrics = mine_pairs(current)
        table = read_json(layout.MINE_TABLE)
        show_drops("mine-drops", table["dropped"], "Mutants that were tried and not kept")
        kinds = [{"kind": kind, **counts} for kind, counts in table["kinds"].items()]
        create_table_artifact(table=kinds, key="mine-kinds", description="Mutants by kind")
        current.run.log_file(layout.MINE_TABLE)
    return current.metrics


if __name__ == "__main__":
    run_stage(mine_flow)
