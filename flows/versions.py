"""What flows ask DVC: whether a stage has to run, and to remember what it made."""

from __future__ import annotations

import json

from prefect import task

from flows.stage import ONCE
from tasks.core.dvc_command import PATIENCE, dvc


def is_changed(stage: str) -> bool:
    """Whether a ``dvc repro`` would run the stage itself: inputs, code or params differ from those of its last run."""
    return bool(json.loads(dvc("status", "--json", stage) or "{}").get(stage))


@task(name="record in dvc", task_run_name="record {stage} in dvc", **ONCE)
def record(stage: str) -> None:
    """``dvc commit`` of what a stage made, so that a ``dvc repro`` goes on from it and does not run it again.

    An experiment that reads the old files keeps DVC from it: that is waited for.
    """
    dvc("commit", "--force", stage, tries=PATIENCE)
