"""What flows ask DVC: whether a stage has to run, and to remember what it made."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, TypeVar

from dvc.exceptions import DvcException
from dvc.lock import LockError
from dvc.repo import Repo
from dvc.rwlock import rwlock
from prefect.logging import get_run_logger

from flows.stage import is_complete
from tasks.core.errors import DataError
from tasks.pipeline.dvc_command import ANOTHER, PATIENCE, RETRY_SECONDS, Busy, dvc

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


@contextmanager
def held(stage: str, waits: Callable[[], object], tries: int = PATIENCE) -> Iterator[Callable[[], None]]:
    """Within the block the outputs of a stage are this process's, as they are a ``dvc repro``'s that runs it; others wait.

    Yields what records the outputs in ``dvc.lock`` (``dvc commit``), in this process, since DVC keeps others from it. ``waits``
    is called once if another process is at the stage or reads what it made. Raises :class:`Busy` if that takes too long,
    :class:`DataError` if DVC refuses.
    """
    with Repo() as repo:
        found = repo.stage.load_one(name=stage)
        read, write = ([each.fs_path for each in paths] for paths in (found.deps, found.outs))
        options = repo.tmp_dir, repo.fs, " ".join(sys.argv), read, write, repo.config["core"].get("hardlink_lock", False)
    with ExitStack() as stack:
        _insisted(lambda: stack.enter_context(rwlock(*options)), waits, tries)
        yield partial(_insisted, partial(_commit, stage), waits, tries)


def _commit(stage: str) -> None:
    try:
        with Repo() as repo:
            repo.commit(stage, force=True)
    except LockError:
        raise
    except DvcException as error:
        raise DataError(f"dvc commit failed: {' '.join(str(error).split())}") from None


def _insisted(act: Callable[[], Any], waits: Callable[[], object], tries: int) -> None:
    for left in reversed(range(tries)):
        try:
            act()
        except LockError:
            if left == tries - 1:
                waits()
            if left:
                time.sleep(RETRY_SECONDS)
        else:
            return
    raise Busy(ANOTHER)
