"""What Linux, macOS and Windows do differently: limits of a process, files below a folder, what a child wrote.

Linux has all of it. macOS has no ``prlimit`` and refuses a limit of memory; there, and on Windows, only time ends a search or a
parse. Windows was not run: its branches follow the documentation of Python 3.13.
"""

from __future__ import annotations

import os
import select
import signal
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path

try:
    import resource
except ModuleNotFoundError:  # Windows
    resource = None  # type: ignore[assignment]

OUT_OF_TIME = -getattr(signal, "SIGXCPU", 1 << 16)
"""Exit status of a process that used up its work."""


def limit_child(pid: int, memory: int, cpu_seconds: int) -> None:
    """Limit a process that was just started, where the system can: bytes of memory, seconds of work, and no core file."""
    if hasattr(resource, "prlimit"):
        with suppress(OSError, ValueError):  # it has ended already
            resource.prlimit(pid, resource.RLIMIT_AS, (memory, memory))
            resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))  # the signal of the next limit would leave one in the tree
            resource.prlimit(pid, resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))


def limit_memory(memory: int) -> None:
    """Limit this process to so many bytes, where the system can, and let it leave no core file."""
    if resource is not None:
        with suppress(OSError, ValueError):  # macOS has the limit and refuses to set it
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def end_after(seconds: float) -> None:
    """End this process in so many seconds of its own work, or of the clock where work is not counted; 0: do not."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        return
    import faulthandler  # its thread runs whatever holds the interpreter; what it says goes to stderr

    if seconds:
        faulthandler.dump_traceback_later(seconds, exit=True)
    else:
        faulthandler.cancel_dump_traceback_later()


def open_below(root: Path, parts: tuple[str, ...]) -> int:
    """Open a file or folder below ``root`` for reading, without following a link on the way or waiting for a device.

    Returns a descriptor. Raises :class:`OSError`, also for a link.
    """
    if os.open not in os.supports_dir_fd:
        return _open_checked(root, parts)
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    descriptor = os.open(root, flags | os.O_DIRECTORY)
    for part in parts:
        try:
            inner = os.open(part, flags, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = inner
    return descriptor


def _open_checked(root: Path, parts: tuple[str, ...]) -> int:
    """As :func:`open_below`, where a folder cannot be opened: what was opened must be the file that was looked at."""
    path, seen = root, os.lstat(root)
    for part in parts:
        path = path / part
        seen = os.lstat(path)
        if stat.S_ISLNK(seen.st_mode):
            raise OSError(f"{part} is a link")
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0))
    if not os.path.samestat(seen, os.fstat(descriptor)) or os.path.realpath(path) != str(path):
        os.close(descriptor)
        raise OSError(f"{parts[-1:]} changed while it was opened")
    return descriptor


def readable(descriptor: int, seconds: float) -> bool:
    """Whether a pipe has something to read, or its end, within so many seconds."""
    if hasattr(select, "poll"):
        ready = select.poll()
        ready.register(descriptor, select.POLLIN)
        return bool(ready.poll(seconds * 1000))
    if sys.platform == "win32":
        import _winapi
        import msvcrt

        end, pipe = time.monotonic() + seconds, msvcrt.get_osfhandle(descriptor)
        with suppress(BrokenPipeError):  # its end
            while not _winapi.PeekNamedPipe(pipe, 0)[0]:
                if time.monotonic() >= end:
                    return False
                time.sleep(0.002)
        return True
    return bool(select.select([descriptor], [], [], seconds)[0])
