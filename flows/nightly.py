"""Mining every night: only what is new since the last run is asked for.

A deployment (:mod:`flows.deployments`) whose schedule is off until it is switched on in Prefect's pages or with ``prefect
deployment schedule resume``. ``python -m flows.nightly`` mines now, as a night would, and ends.
"""

from __future__ import annotations

from typing import Any

from prefect import flow
from prefect.logging import get_run_logger

from flows.command import run_command
from flows.failures import deployed, explained, staged_until
from flows.pipeline import StageName, run_and_record
from flows.run import FLOWS
from flows.versions import recorded

_explained = explained(
    "nightly",
    again=lambda parameters: deployed("nightly/nightly", "python -m flows.nightly"),
    inputs=lambda parameters: staged_until(parameters, "mine"),
)


@flow(name="nightly", **_explained)
def nightly_flow(until: StageName = StageName.mine) -> dict[str, Any]:
    """Mine what is new, and record it. Returns the metrics of the stage; ``new_pairs`` is what this night brought.

    Args:
        until: The last stage to run afterwards on what is new; `mine`: none.
    """
    metrics = recorded("mine", FLOWS["mine"])
    get_run_logger().info("%s new pairs, %s in all", metrics.get("new_pairs", "?"), metrics["pairs"])
    names = list(FLOWS)
    for name in names[1 : names.index(until) + 1]:
        run_and_record(name)
    return metrics


if __name__ == "__main__":
    run_command(nightly_flow)
