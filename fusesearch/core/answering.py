"""A process that answers questions about untrusted data, one after the other, over its standard streams.

Whatever the data make it do ends with that process: it opens no file, has a limit on memory, and one on CPU time per question, so
that results do not depend on how busy the machine is. It ends with its standard input.
"""

from __future__ import annotations

import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO

from fusesearch.core.systems import end_after, limit_memory

_LENGTH = struct.Struct(">Q")
_ROOT = Path(__file__).parents[2]


class Answerer:
    """A Python process that runs ``serve()`` of a module of this package, with ``arguments`` from ``sys.argv[2]`` on.

    It starts with the first question, and again after one that it died over. Threads take turns.
    """

    def __init__(self, module: str, *arguments: str) -> None:
        start = f"import sys; sys.path.insert(0, sys.argv[1]); from {module} import serve; serve()"
        self._command = [sys.executable, "-P", "-c", start, str(_ROOT), *arguments]
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, name: str, data: bytes) -> bytes | None:
        """What it answers about ``data``; None if it died over it."""
        with self._lock:
            if self._process is None:
                pipe, null = subprocess.PIPE, subprocess.DEVNULL
                self._process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, stderr=null, cwd="/")
            answer = _asked(self._process, name, data)
        if answer is None:
            self.end()
        return answer

    def kill(self) -> None:
        """Kill the process in the middle of a question that another thread asks, which calls :meth:`end`."""
        if (process := self._process) is not None:
            process.kill()

    def end(self) -> None:
        """End the process; the next question starts another."""
        self.kill()
        with self._lock:
            if self._process is not None:
                self._process.communicate()
            self._process = None


def _asked(process: subprocess.Popen[bytes], name: str, data: bytes) -> bytes | None:
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
    limit_memory(memory)
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    while (name := _receive(stdin)) is not None and (data := _receive(stdin)) is not None:
        end_after(seconds)
        found = answer(name.decode("utf-8"), data)
        end_after(0)
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
