"""DVC as a command that waits for what another process holds: a stage that was cut off and is about to end, or one at work.

And the same for a stage that this process runs itself, whose outputs no ``dvc repro`` may remove meanwhile (:func:`held`).
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from tasks.core.errors import DataError

BUSY = ("it is being blocked by", "Unable to acquire lock", "is already running on these inputs")
BUSY_TRIES = 24
RETRY_SECONDS = 5.0
"""How often, and how long apart, something is tried again that another process holds."""
_ANOTHER = "another process runs a stage here, or reads what it made: wait for it, or stop it"
PATIENCE = 720
"""Tries of what is worth an hour: a stage that another process runs, or an experiment that reads the files to be replaced."""


class Busy(DataError):
    """Another process runs a stage, or reads what it made, for longer than was waited."""


def dvc(*arguments: str, tries: int = BUSY_TRIES) -> str:
    """What ``dvc ARGUMENTS`` prints. Raises :class:`DataError` when it fails, :class:`Busy` if something is held for too long."""
    command = [sys.executable, "-m", "dvc", "--wait-for-lock", *arguments]
    for left in reversed(range(tries)):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not done.returncode:
            return done.stdout
        if not is_busy(done.stderr):
            reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise DataError(f"dvc {' '.join(arguments[:1])} failed: {reason}")
        if left:
            time.sleep(RETRY_SECONDS)
    raise Busy(_ANOTHER)


@contextmanager
def held(stage: str, waits: Callable[[], object], tries: int = PATIENCE) -> Iterator[Callable[[], None]]:
    """Within the block the outputs of a stage are this process's, as they are a ``dvc repro``'s that runs it; others wait.

    Yields what records the outputs in ``dvc.lock`` (``dvc commit``), in this process, since DVC keeps others from it. ``waits``
    is called once if another process is at the stage or reads what it made. Raises :class:`Busy` if that takes too long,
    :class:`DataError` if DVC refuses.
    """
    from dvc.repo import Repo
    from dvc.rwlock import rwlock

    with Repo() as repo:
        found = repo.stage.load_one(name=stage)
        read, write = ([each.fs_path for each in paths] for paths in (found.deps, found.outs))
        options = repo.tmp_dir, repo.fs, " ".join(sys.argv), read, write, repo.config["core"].get("hardlink_lock", False)
    with ExitStack() as stack:
        _insisted(lambda: stack.enter_context(rwlock(*options)), waits, tries)
        yield partial(_insisted, partial(_commit, stage), waits, tries)


def _commit(stage: str) -> None:
    from dvc.exceptions import DvcException
    from dvc.lock import LockError
    from dvc.repo import Repo

    try:
        with Repo() as repo:
            repo.commit(stage, force=True)
    except LockError:
        raise
    except DvcException as error:
        raise DataError(f"dvc commit failed: {' '.join(str(error).split())}") from None


def _insisted(act: Callable[[], Any], waits: Callable[[], object], tries: int) -> None:
    from dvc.lock import LockError

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
    raise Busy(_ANOTHER)


def is_busy(said: str) -> bool:
    """Whether DVC, or a stage, refused because another process holds what it needs."""
    return any(words in said for words in BUSY)
