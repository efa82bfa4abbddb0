"""Parses untrusted files with tree-sitter in a separate process.

Generated parsers can take minutes for a short hostile file, and they are written in C. So each process has one child that
parses all its files, with a limit on memory and one on CPU time per file. A file that kills the child has no functions, and
the next file starts a new child. The limit is on CPU time so that results do not depend on how busy the machine is.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from functools import cache
from typing import Any

from fusesearch.code.reader import Syntax
from fusesearch.code.spans import FunctionSpan
from fusesearch.core.answering import answer_all, ask_server, start_server

MAX_CHARS = 1_000_000
"""Longer sources, mostly generated or minified, are skipped."""

CPU_SECONDS = 10.0
MEMORY = 2 << 30


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
    from fusesearch.code.other import syntax

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


def _without_comments(data: bytes, comments: list[tuple[int, int]]) -> list[str]:
    code = bytearray(data)
    for start, end in comments:
        code[start:end] = re.sub(rb"[^\n]", b" ", code[start:end])
    return [line.rstrip() for line in code.decode("utf-8", "replace").split("\n")]
