"""A stage ends when the process that started it is gone, so that the next ``dvc repro`` finds nothing still at work.

DVC starts stages through a shell and gives them no pipe, so :mod:`fusesearch.core.child` does not help here. And Prefect shows an
interrupted stage as cancelled, but a killed one as running.
"""

from __future__ import annotations

import os
import signal
import threading
import time

from tasks.running.process import is_alive, starters

POLL_SECONDS = 1.0
GRACE_SECONDS = 30.0
"""How long a stage that was interrupted may take to end before it is killed."""


def end_with_starter() -> None:
    """Interrupt this process, as Ctrl-C would, once one of :func:`starters` is gone. Call it from the main thread.

    Background jobs of a script ignore interruptions, and so do their children: the usual handler is put back.
    """
    watched = starters()
    if watched:
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Thread(target=_watch, args=(watched,), name="owner", daemon=True).start()


def _watch(watched: list[str]) -> None:
    while all(map(is_alive, watched)):
        time.sleep(POLL_SECONDS)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(GRACE_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)
