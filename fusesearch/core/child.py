"""Child processes that end with the process that started them, even by SIGKILL, and with all that they started.

A child has one end of a pipe, and only its parent has the other: the kernel closes it when the parent ends. Three places need
another way, and say why: :mod:`tasks.running.process`, the synthetic source's sandbox, and the study ``downstream``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any


def start(command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """Start a command in a group of its own that ends with this process. Its standard input is empty."""
    keeper = [sys.executable, "-P", __file__, *command]
    return subprocess.Popen(keeper, stdin=subprocess.PIPE, start_new_session=True, **options)


def end(process: subprocess.Popen[Any], seconds: float = 0.0, first: int = signal.SIGTERM) -> None:
    """End a process that leads a group, and the group: with ``first`` if ``seconds`` are given, after them with SIGKILL."""
    if not hasattr(os, "killpg"):  # Windows, where this ends the keeper, and with it the pipe to what it started
        process.kill()
        process.wait()
        return
    with suppress(ProcessLookupError, subprocess.TimeoutExpired):
        if seconds:
            os.killpg(process.pid, first)
            process.wait(seconds)
    with suppress(ProcessLookupError):  # what ignores the first signal, or was stopped
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@cache
def end_with_parent() -> None:
    """End this process with the one that started it, if :mod:`multiprocessing` did."""
    import multiprocessing.process

    def follow(parent: multiprocessing.process.BaseProcess) -> None:
        parent.join()
        os._exit(1)

    if parent := multiprocessing.parent_process():
        threading.Thread(target=follow, args=[parent], daemon=True).start()


def _keep(command: Sequence[str]) -> int:
    """Run a command to its end, or to that of the pipe at standard input; returns its exit status."""
    signal.signal(signal.SIGTERM, lambda *_: None)  # the command gets it, too, and ends in order
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)

    def end_group() -> None:
        os.read(0, 1)  # nobody writes: it returns when the parent has ended
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=end_group, daemon=True).start()
    return process.wait()


if __name__ == "__main__":
    sys.exit(_keep(sys.argv[1:]))
