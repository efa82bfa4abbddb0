"""Keep the raw pairs that are worth a task, with their truth."""

from typing import Any

from prefect import flow, task

from flows.stage import ONCE, Stage, run_stage, show_drops, stage
from tasks.core import layout
from tasks.core.storage import read_json
from tasks.stages.filtering import filter_pairs


@task(name="apply rules", **ONCE)
def apply_rules(current: Stage) -> dict[str, Any]:
    """Drop what the rules say; compute the truth of the rest."""
    return filter_pairs(current.params, current.scratch, current.progress)


@flow(name="filter")
def filter_flow() -> dict[str, Any]:
    """``data/raw`` to ``data/filtered``."""
    with stage("filter") as current:
        current.metrics = apply_rules(current)
        show_drops("filter-drops", read_json(layout.FILTER_DROPS), "Pairs dropped, by rule")
        current.run.log_file(layout.FILTER_DROPS)
    return current.metrics


if __name__ == "__main__":
    run_stage(filter_flow)
