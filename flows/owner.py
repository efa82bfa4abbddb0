"""A stage that an experiment's run started ends when that run is gone, so that a later one finds nothing still at work."""

from __future__ import annotations

import os
import signal
import threading
import time

import psutil

from tasks.pipeline.process import birth

OWNER = "FUSESEARCH_OWNER"
"""Environment variable of a stage that an experiment runs: id and start of the process it belongs to."""

POLL_SECONDS = 1.0
GRACE_SECONDS = 30.0
"""How long a stage that was interrupted may take to end before it is killed."""


def end_with_owner() -> None:
    """Interrupt this process, as Ctrl-C would, once the process named in the environment is no more; without a name, nothing.

    A process that was started in a script's background ignores interruptions, and so do those it starts: not this one. To be
    called from the main thread.
    """
    owner = os.environ.get(OWNER)
    if owner:
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Thread(target=_watch, args=(owner,), name="owner", daemon=True).start()


def is_alive(owner: str) -> bool:
    """Whether the process is there and is the same one: ids are given anew."""
    number, _, born = owner.partition(" ")
    try:
        return birth(int(number)) == float(born)
    except (psutil.Error, ValueError):
        return False


def _watch(owner: str) -> None:
    while is_alive(owner):
        time.sleep(POLL_SECONDS)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(GRACE_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)
