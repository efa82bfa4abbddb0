"""What flows ask DVC: whether a stage has to run, and to remember what it made."""

from __future__ import annotations

import json
import subprocess
import sys

from prefect import task

from flows.stage import ONCE
from tasks.core.errors import DataError


def is_changed(stage: str) -> bool:
    """Whether a ``dvc repro`` would run the stage itself: inputs, code or params differ from those of its last run."""
    return bool(json.loads(_dvc("status", "--json", stage) or "{}").get(stage))


@task(name="record in dvc", task_run_name="record {stage} in dvc", **ONCE)
def record(stage: str) -> None:
    """``dvc commit`` of what a stage made, so that a ``dvc repro`` goes on from it and does not run it again."""
    _dvc("commit", "--force", stage)


def _dvc(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "dvc", "--wait-for-lock", *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise DataError(f"dvc {' '.join(arguments)} failed: {reason}")
    return done.stdout
