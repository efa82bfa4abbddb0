"""All stages in order as one flow, to be scheduled or started from Prefect; by hand, ``dvc repro`` is the way.

DVC says which stages have to run, and remembers each as soon as it has ended: a pipeline that was cut off goes on where it
was, and a ``dvc repro`` afterwards finds nothing to do.
"""

from collections.abc import Callable
from typing import Any, Literal

from prefect import flow
from prefect.logging import get_run_logger

from flows.evaluate import evaluate_flow
from flows.failures import deployed, explained, staged_until
from flows.filter import filter_flow
from flows.grpo import grpo_flow, grpo_from_base_flow
from flows.mine import mine_flow
from flows.report import report_flow
from flows.select_ import select_flow
from flows.sft import sft_flow
from flows.split import split_flow
from flows.stage import run_stage
from flows.synthesize import synthesize_flow
from flows.versions import is_changed, recorded

StageName = Literal["mine", "filter", "split", "synthesize", "select", "sft", "grpo", "grpo_from_base", "evaluate", "report"]

STAGES: dict[str, Callable[..., Any]] = {
    "mine": mine_flow,
    "filter": filter_flow,
    "split": split_flow,
    "synthesize": synthesize_flow,
    "select": select_flow,
    "sft": sft_flow,
    "grpo": grpo_flow,
    "grpo_from_base": grpo_from_base_flow,
    "evaluate": evaluate_flow,
    "report": report_flow,
}
"""Flows by the name of their stage in ``dvc.yaml``, in order."""


def run_and_record(stage: str, again: bool = False) -> bool:
    """Run a stage if DVC finds it changed, or ``again`` in any case, and let DVC remember it. Whether it ran."""
    if not (again or is_changed(stage)):
        get_run_logger().info("%s: nothing has changed", stage)
        return False
    recorded(stage, STAGES[stage])
    return True


_explained = explained(
    "pipeline",
    again=lambda parameters: deployed("pipeline/pipeline", "python -m flows.pipeline"),
    inputs=lambda parameters: staged_until(parameters, "report"),
)


@flow(name="pipeline", **_explained)
def pipeline_flow(until: StageName = "report", again: bool = False) -> list[str]:
    """The stages from mining to the report, and RL without SFT. Returns those that ran.

    Args:
        until: The last stage to run.
        again: Run every stage, whether or not anything has changed.
    """
    names = list(STAGES)
    return [name for name in names[: names.index(until) + 1] if run_and_record(name, again)]


if __name__ == "__main__":
    run_stage(pipeline_flow)
