"""A process that answers questions about untrusted data, one after the other, over its standard streams.

Whatever the data make it do ends with that process: it opens no file, has a limit on memory, and one on CPU time per question, so
that results do not depend on how busy the machine is. It ends with its standard input.
"""

from __future__ import annotations

import resource
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

_LENGTH = struct.Struct(">Q")
_ROOT = Path(__file__).parents[2]


def start_server(module: str, *arguments: str) -> subprocess.Popen[bytes]:
    """A Python process that runs ``serve()`` of a module of this package, with ``arguments`` from ``sys.argv[2]`` on."""
    start = f"import sys; sys.path.insert(0, sys.argv[1]); from {module} import serve; serve()"
    command = [sys.executable, "-P", "-c", start, str(_ROOT), *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/")


def ask_server(process: subprocess.Popen[bytes], name: str, data: bytes) -> bytes | None:
    """What a process of :func:`start_server` answers about ``data``; None if it died over it."""
    assert process.stdin is not None  # noqa: S101
    assert process.stdout is not None  # noqa: S101
    try:
        for part in (name.encode("utf-8"), data):
            _send(process.stdin, part)
    except BrokenPipeError:
        return None
    return _receive(process.stdout)


def answer_all(answer: Callable[[str, bytes], bytes], seconds: float, memory: int) -> None:
    """In such a process: answer until standard input ends, each time in at most ``seconds`` of CPU and ``memory`` bytes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    while (name := _receive(stdin)) is not None and (data := _receive(stdin)) is not None:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        found = answer(name.decode("utf-8"), data)
        signal.setitimer(signal.ITIMER_PROF, 0)
        _send(stdout, found)


def _send(stream: IO[bytes], data: bytes) -> None:
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def _receive(stream: IO[bytes]) -> bytes | None:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    size = _LENGTH.unpack(head)[0]
    data = stream.read(size)
    return data if len(data) == size else None
