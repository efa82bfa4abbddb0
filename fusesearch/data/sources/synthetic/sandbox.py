"""Run a function in a forked child: limited time and memory, no side effects, and the same course in every run.

The parent has imported the package and never runs its examples, so every child starts from the same clean state.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import pickle
import random
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
MAX_RESULT_BYTES = 16_000_000
_M_PERTURB = -6
"""glibc's ``mallopt`` option for the byte that fills memory."""
_FORBIDDEN = (
    *("socket.connect", "socket.getaddrinfo", "socket.bind", "subprocess.Popen", "pty.spawn", "webbrowser.open"),
    *("os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.kill"),
    *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown"),
    *("shutil.", "tempfile."),
)

_held: list[Any] = []
"""What a child keeps so that the memory behind its arrays differs."""

violations: list[str] = []
"""Refused attempts of this child to reach outside itself."""


class Sandbox:
    """Forks children of this process, which share ``cpu_budget`` with it.

    Budgets count processor time, not wall time: a busy machine makes mining slower but not different.
    """

    def __init__(self, cpu_budget: float, wall_seconds: float, memory_mb: int) -> None:
        self._parent = os.getppid()
        self._cpu_budget = cpu_budget
        self._wall_seconds = wall_seconds
        self._memory = memory_mb * 1_000_000
        self.late = 0
        """Children that the clock ended; a slower machine may end others."""

    def used(self) -> float:
        """Processor seconds of this process and its children so far."""
        return time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])

    def spent(self, share: float = 1.0) -> bool:
        """Whether this share of the budget is used up."""
        return self.used() > share * self._cpu_budget

    def run(self, function: Callable[[], T], cpu_seconds: float, *, other_memory: bool = False) -> T | None:
        """The function's (picklable) result from a child; None if it hung, crashed, ran out of memory or returned too much.

        ``other_memory``: unwritten memory has other bytes than usual (glibc), so that a result that depends on it changes.
        Ends this process when its parent has died: a killed run must not continue beside its successor. A thread that waits
        for that, as in :mod:`fusesearch.core.child`, would be beside every fork.
        """
        if os.getppid() != self._parent:
            os._exit(1)
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            _child(function, writer, cpu_seconds, self._memory, other_memory)
        os.close(writer)
        try:
            data = _read_all(reader, self._wall_seconds)
        finally:
            os.close(reader)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            status = os.waitpid(pid, 0)[1]
        if data is None or (os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGXCPU)):
            self.late += 1
        try:
            return pickle.loads(data) if data else None  # noqa: S301  our own child wrote it
        except (EOFError, pickle.UnpicklingError, MemoryError):
            return None


def _child(function: Callable[[], Any], writer: int, cpu_seconds: float, memory: int, other_memory: bool) -> None:
    try:
        gc.disable()
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        _limit(cpu_seconds, memory)
        fix_random_numbers()
        _fix_empty_arrays()
        if other_memory:
            _refill_memory()
        sys.addaudithook(_refuse)
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(pickle.dumps(function()))
    except BaseException:  # noqa: S110  the parent sees an empty result
        pass
    finally:
        os._exit(0)


def _limit(cpu_seconds: float, memory: int) -> None:
    """``memory`` is in bytes, beyond what the child inherited."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
    whole = int(cpu_seconds) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (whole, whole))
    most = address_space() + memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        mode, flags = arguments[1], arguments[2]
        writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if not writes and not (isinstance(mode, str) and set(mode) & set("wax+")):
            return
        if isinstance(arguments[0], int):
            return
    elif not event.startswith(_FORBIDDEN):
        return
    violations.append(event)
    raise PermissionError(f"{event} is not allowed here")


def _read_all(reader: int, seconds: float) -> bytes | None:
    """All of a child's answer: None after ``seconds`` of waiting, empty if it is too long.

    Counts the waiting in steps of a second, so that it does not matter if both processes were stopped meanwhile.
    """
    answer = bytearray()
    while len(answer) <= MAX_RESULT_BYTES:
        if select.select([reader], [], [], min(1.0, seconds))[0]:
            chunk = os.read(reader, 1 << 16)
            if not chunk:
                return bytes(answer)
            answer += chunk
        else:
            seconds -= 1
            if seconds <= 0:
                return None
    return b""


def address_space() -> int:
    """Bytes of address space this process uses now (Linux); a generous guess elsewhere."""
    try:
        with open("/proc/self/statm", encoding="ascii") as handle:
            return int(handle.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 4 << 30


def fix_addresses() -> bool:
    """Restart this process with addresses that are the same in every run (Linux); returns whether they are now.

    Sets of classes and functions are ordered by address, so examples may run differently at other addresses. Call it before
    reading stdin. If the system refuses, the process continues as it is.
    """
    no_random_addresses, ask = 0x0040000, 0xFFFFFFFF
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None)
    persona = libc.personality(ask)
    if persona == -1 or persona & no_random_addresses:
        return persona != -1
    if libc.personality(persona | no_random_addresses) == -1 or not libc.personality(ask) & no_random_addresses:
        return False
    os.execv(sys.executable, sys.orig_argv)  # noqa: S606  this very process


def fix_random_numbers() -> None:
    """Make ``random``, ``secrets``, ``uuid`` and ``numpy.random`` give the same numbers in every run.

    Call it before importing packages: many create a generator at import, which Python seeds from the system.
    """
    random.Random.seed = _seed  # type: ignore[method-assign]
    random.seed(0)
    source = random.Random()
    os.urandom = source.randbytes
    setattr(random, "_urandom", source.randbytes)  # noqa: B010  the source of SystemRandom and secrets
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed(0)


_SEED = random.Random.seed


def _seed(self: random.Random, a: Any = None, version: int = 2) -> None:
    _SEED(self, 0 if a is None else a, version)


def _fix_empty_arrays() -> None:
    """Let ``numpy.empty`` and ``empty_like`` return zeros, because numpy reuses the memory of small arrays as it is."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return

    def zeroed(empty: Callable[..., Any], zeros: Callable[..., Any]) -> Callable[..., Any]:
        def make(*args: Any, **options: Any) -> Any:
            array = empty(*args, **options)
            return array if array.dtype.hasobject else zeros(*args, **options)

        return make

    numpy.empty = zeroed(numpy.empty, numpy.zeros)  # type: ignore[attr-defined]
    numpy.empty_like = zeroed(numpy.empty_like, numpy.zeros_like)  # type: ignore[attr-defined]


def _refill_memory() -> None:
    """Give unwritten memory other bytes, and new arrays other neighbours: some faults read what lies behind an array."""
    numpy = sys.modules.get("numpy")
    if numpy is not None:  # numpy keeps eight freed blocks of each of these sizes
        _held.extend(numpy.full(size, 0xCC, "u1") for size in range(1, 1024) for _ in range(8))
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
        libc.free.argtypes = (ctypes.c_void_p,)
        libc.mallopt(_M_PERTURB, 0x33)
        for size in range(16, 4096, 16):
            for block in [libc.malloc(size) for _ in range(16)][::2]:
                libc.free(block)
