"""All stages in order as one flow, to be scheduled or started from Prefect; by hand, ``dvc repro`` is the way.

DVC says which stages have to run, and remembers each as soon as it has ended: a pipeline that was cut off goes on where it
was, and a ``dvc repro`` afterwards finds nothing to do.
"""

from enum import StrEnum

from prefect import flow
from prefect.logging import get_run_logger

from flows.command import run_command
from flows.failures import deployed, explained, staged_until
from flows.run import FLOWS
from flows.versions import is_changed, recorded

StageName = StrEnum("StageName", {name: name for name in FLOWS})


def run_and_record(stage: str, again: bool = False) -> bool:
    """Run a stage if DVC finds it changed, or ``again`` in any case, and let DVC remember it. Whether it ran."""
    if not (again or is_changed(stage)):
        get_run_logger().info("%s: nothing has changed", stage)
        return False
    recorded(stage, FLOWS[stage])
    return True


_explained = explained(
    "pipeline",
    again=lambda parameters: deployed("pipeline/pipeline", "python -m flows.pipeline"),
    inputs=lambda parameters: staged_until(parameters, "report"),
)


@flow(name="pipeline", **_explained)
def pipeline_flow(until: StageName = StageName.report, again: bool = False) -> list[str]:
    """The stages from mining to the report, and RL without SFT. Returns those that ran.

    Args:
        until: The last stage to run.
        again: Run every stage, whether or not anything has changed.
    """
    names = list(FLOWS)
    return [name for name in names[: names.index(until) + 1] if run_and_record(name, again)]


if __name__ == "__main__":
    run_command(pipeline_flow)
