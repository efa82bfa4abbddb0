"""Parses untrusted files with tree-sitter in a separate process.

Generated parsers can take minutes for a short hostile file, and they are written in C. So each process has one child that
parses all its files, with a limit on memory and one on CPU time per file. A file that kills the child has no functions, and
the next file starts a new child. The limit is on CPU time so that results do not depend on how busy the machine is.
"""

from __future__ import annotations

import json
import os
import sys
from functools import cache
from typing import Any

from fusesearch.code.reader import Syntax
from fusesearch.code.spans import FunctionSpan
from fusesearch.core.answering import Answerer, answer_all

MAX_CHARS = 1_000_000
"""Longer sources, mostly generated or minified, are skipped."""

CPU_SECONDS = 10.0
MEMORY = 2 << 30


def read_syntax(source: str, language: str) -> Syntax | None:
    """The syntax of a source; ``None`` if it is longer than :data:`MAX_CHARS` or exceeds a limit of the parser."""
    found = _asked(language, source, whole=True)
    if found is None:
        return None
    code = [line.rstrip() for line in found["code"].split("\n")]
    return Syntax(_spans(found), code, [(first, last) for first, last in found["unread"]])


def read_spans(source: str, language: str) -> list[FunctionSpan]:
    """The functions alone, in half the time: none where :func:`read_syntax` gives ``None``."""
    found = _asked(language, source, whole=False)
    return _spans(found) if found else []


def _asked(language: str, source: str, *, whole: bool) -> dict[str, Any] | None:
    if len(source) > MAX_CHARS:
        return None
    answer = _child(os.getpid()).ask(f"{language} whole" if whole else language, source.encode("utf-8", "replace"))
    found: dict[str, Any] | None = None if answer is None else json.loads(answer)
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


@cache
def _child(process: int) -> Answerer:
    """The parser of ``process``, so that a fork does not share its parent's pipes."""
    return Answerer(__name__, str(CPU_SECONDS))
