"""All stages in order as one flow, to be scheduled or started from Prefect; by hand, ``dvc repro`` is the way.

Every stage runs, whether or not its inputs changed; afterwards ``dvc commit`` makes ``dvc.lock`` agree with what was made,
so that a ``dvc repro`` finds nothing to do.
"""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

from prefect import flow, task

from flows.evaluate import evaluate_flow
from flows.filter import filter_flow
from flows.grpo import grpo_flow, grpo_from_base_flow
from flows.mine import mine_flow
from flows.report import report_flow
from flows.select_ import select_flow
from flows.sft import sft_flow
from flows.split import split_flow
from flows.stage import ONCE, run_stage
from flows.synthesize import synthesize_flow
from tasks.core.errors import DataError

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


@task(name="record in dvc", **ONCE)
def record() -> None:
    """``dvc commit`` of everything the stages made."""
    done = subprocess.run([sys.executable, "-m", "dvc", "commit", "--force"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise DataError(f"dvc commit failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")


@flow(name="pipeline")
def pipeline_flow() -> None:
    """The nine stages, and RL without SFT."""
    for run in STAGES.values():
        run()
    record()


if __name__ == "__main__":
    run_stage(pipeline_flow)
