"""What flows ask DVC: whether a stage has to run, and to remember what it made."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeVar

from prefect.logging import get_run_logger

from flows.stage import is_complete
from tasks.core.dvc_command import dvc, held

Made = TypeVar("Made")


def is_changed(stage: str) -> bool:
    """Whether a ``dvc repro`` would run the stage itself: inputs, code or params differ from those of its last run."""
    return bool(json.loads(dvc("status", "--json", stage) or "{}").get(stage))


def recorded(stage: str, run: Callable[[], Made]) -> Made:
    """What ``run`` returns, the flow of a stage. DVC then remembers the outputs: a ``dvc repro`` goes on from them.

    Meanwhile they are this process's alone. Whoever runs the stage already, or reads what it made before, is waited for; a
    ``dvc repro`` or an experiment that comes later waits for this one. What is complete is remembered even if Prefect's server
    took no note of it.
    """
    log = get_run_logger()
    with held(stage, lambda: log.info("%s: waits for another process that runs it, or reads what it made", stage)) as record:
        try:
            return run()
        finally:
            if is_complete(stage):
                record()
                log.info("%s: recorded in DVC", stage)
