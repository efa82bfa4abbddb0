"""Identify a process by PID and start time, because PIDs are reused; find the processes that started this one, and end with them.

DVC starts stages through a shell and gives them no pipe, so :mod:`fusesearch.core.child` does not help here. And Prefect shows an
interrupted stage as cancelled, but a killed one as running.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import psutil

OWNER = "FUSESEARCH_OWNER"
"""Environment variable with the process that a stage ends with, as :func:`identity` writes it."""


def birth(pid: int) -> float:
    """When a process began: in ticks since boot where ``/proc`` has that, else in seconds since 1970.

    Ticks do not change when the machine's clock is set, as after a pause of a virtual machine. Raises
    :class:`psutil.NoSuchProcess`.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return float(fields[19])
    except (OSError, IndexError, ValueError):
        return psutil.Process(pid).create_time()


def identity(pid: int) -> str:
    """PID and birth of a process. Raises :class:`psutil.NoSuchProcess`."""
    return f"{pid} {birth(pid)}"


def is_alive(process: str) -> bool:
    """Whether the process with this :func:`identity` still runs."""
    number, _, born = process.partition(" ")
    try:
        return birth(int(number)) == float(born)
    except (psutil.Error, ValueError):
        return False


def starters() -> list[str]:
    """Processes that this one must not outlive: the one that :data:`OWNER` names, and the ``dvc`` that runs this stage."""
    found = [os.environ[OWNER]] if os.environ.get(OWNER) else []
    if "DVC_STAGE" in os.environ:  # DVC sets it for the commands that it runs
        for parent in psutil.Process().parents():
            try:
                if any(Path(word).name == "dvc" for word in parent.cmdline()):
                    return [*found, identity(parent.pid)]
            except psutil.Error:
                continue
    return found


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
