"""DVC as a command that waits for what another process holds: a stage that was cut off and is about to end, or one at work."""

from __future__ import annotations

import subprocess
import sys
import time

from tasks.core.errors import DataError

BUSY = ("it is being blocked by", "Unable to acquire lock", "is already running on these inputs")
BUSY_TRIES = 24
RETRY_SECONDS = 5.0
"""How often, and how long apart, something is tried again that another process holds."""
ANOTHER = "another process runs a stage here, or reads what it made: wait for it, or stop it"
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
    raise Busy(ANOTHER)


def is_busy(said: str) -> bool:
    """Whether DVC, or a stage, refused because another process holds what it needs."""
    return any(words in said for words in BUSY)
