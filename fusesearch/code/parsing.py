"""Parses untrusted files with tree-sitter in a separate process.

Generated parsers can take minutes for a short hostile file, and they are written in C. So each process has one child that
parses all its files, with a limit on memory and one on CPU time per file. A file that kills the child has no functions, and
the next file starts a new child. The limit is on CPU time so that results do not depend on how busy the machine is.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

from fusesearch.code.spans import FunctionSpan

MAX_CHARS = 1_000_000
"""Longer sources, mostly generated or minified, are skipped."""

CPU_SECONDS = 5.0
MEMORY = 2 << 30

_LENGTH = struct.Struct(">Q")
_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Syntax:
    """Functions of a source in order of their first line, and its lines without comments and trailing blanks.

    ``unread``: first and last line of each part that could not be parsed.
    """

    spans: list[FunctionSpan]
    code: list[str]
    unread: list[tuple[int, int]]


def read_syntax(source: str, language: str) -> Syntax | None:
    """The syntax of a source; ``None`` if it is longer than :data:`MAX_CHARS` or exceeds a limit of the parser."""
    data = source.encode("utf-8", "replace")
    found = _asked(language, data, whole=True) if len(source) <= MAX_CHARS else None
    if found is None:
        return None
    code = _without_comments(data, found["comments"])
    return Syntax(_spans(found), code, [(first, last) for first, last in found["unread"]])


def read_spans(source: str, language: str) -> list[FunctionSpan]:
    """The functions alone, in half the time: none where :func:`read_syntax` gives ``None``."""
    found = _asked(language, source.encode("utf-8", "replace"), whole=False) if len(source) <= MAX_CHARS else None
    return _spans(found) if found else []


def _asked(language: str, data: bytes, *, whole: bool) -> dict[str, Any] | None:
    found = _child(os.getpid()).ask(language, data, whole)
    if found and "fault" in found:
        raise RuntimeError(f"reading {language} failed: {found['fault']}")
    return found


def _spans(found: dict[str, Any]) -> list[FunctionSpan]:
    return [FunctionSpan(*span) for span in found["spans"]]


def serve() -> None:
    """The child process: read sources from stdin and write the syntax of each to stdout."""

    def answer(language: str, data: bytes) -> bytes:
        name, _, whole = language.partition(" ")
        return json.dumps(_read(name, data, bool(whole))).encode("ascii")

    answer_all(answer, float(sys.argv[2]), MEMORY)


def _read(language: str, data: bytes, whole: bool) -> dict[str, Any]:
    from fusesearch.code import syntax

    try:
        found = syntax.read_source(data, language, whole)
        return found._asdict() | {"spans": [(span.start, span.end, span.name) for span in found.spans]}
    except MemoryError:
        os._exit(1)
    except Exception as error:  # a bug, which the parent reports
        return {"fault": repr(error)[:500]}


class _Child:
    """The parsing process, started on first use and again after it died."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, language: str, data: bytes, whole: bool) -> dict[str, Any] | None:
        with self._lock:
            process = self._process = self._process or start_server(__name__, str(CPU_SECONDS))
            answer = ask_server(process, f"{language} whole" if whole else language, data)
            if answer is None:
                self._end(process)
            return None if answer is None else json.loads(answer)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        self._process = None
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            try:
                if stream is not None:
                    stream.close()
            except BrokenPipeError:
                continue


@cache
def _child(process: int) -> _Child:
    """The child of ``process``, so that a fork does not share its parent's pipes."""
    return _Child()


def start_server(module: str, *arguments: str) -> subprocess.Popen[bytes]:
    """A Python process that runs ``serve()`` of a module of this package. It opens no file and ends with its standard input."""
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


def _without_comments(data: bytes, comments: list[tuple[int, int]]) -> list[str]:
    code = bytearray(data)
    for start, end in comments:
        code[start:end] = re.sub(rb"[^\n]", b" ", code[start:end])
    return [line.rstrip() for line in code.decode("utf-8", "replace").split("\n")]
