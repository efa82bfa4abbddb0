"""Keep the candidates worth learning from.

The underscore keeps ``python flows/select_.py`` from hiding the standard library's ``select``.
"""

from typing import Any

from prefect import flow, task

from flows.failures import watched
from flows.shown import show_funnel
from flows.stage import ONCE, Stage, run_node, show_drops, stage
from tasks.core.storage import read_json
from tasks.pipeline.node import Node
from tasks.pipeline.stages.selection import select_candidates


@task(name="judge candidates", **ONCE)
def judge_candidates(current: Stage) -> dict[str, Any]:
    """F1 >= rho_F and e >= rho_e."""
    return select_candidates(current.params, current.places, current.scratch, current.progress)


@flow(name="select", **watched("select"))
def select_flow(node: Node | None = None) -> dict[str, Any]:
    """``data/synthesized`` to ``data/selected``."""
    with stage("select", node) as current:
        current.metrics = judge_candidates(current)
        show_drops("select-drops", read_json(current.places.select_drops), "Candidates dropped, by reason")
        show_funnel(current.places, current.metrics)
    return current.metrics


if __name__ == "__main__":
    run_node("select", select_flow)
