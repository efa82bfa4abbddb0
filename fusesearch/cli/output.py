"""Shared by commands: print JSON, read a file or stdin, write a file, usage errors."""

from __future__ import annotations

import codecs
import io
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fusesearch.core.errors import DataError
from fusesearch.core.text import decoded, marked

if TYPE_CHECKING:
    import typer

_CONTROLS = re.compile("[\x7f-\x9f]")  # json.dumps does not escape these, and some terminals obey them


class Format(StrEnum):
    """How a command prints its result."""

    text = "text"
    json = "json"


@contextmanager
def standard_streams() -> Iterator[None]:
    """Streams that take every character, as an escape if their encoding lacks it. If stdout fails at last, it is an error."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:  # closed, as by `>&-`; the next file that is opened would take its place
            os.open(os.devnull, os.O_RDONLY if name == "stdout" else os.O_RDWR)  # stdout fails when it is written
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115
        if number and isinstance(stream := getattr(sys, name), io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        if fault := fault_of_stdout():
            complain(fault)
            sys.exit(1)


def fault_of_stdout() -> str:
    """Why stdout takes nothing, once; empty if it does, or if its reader has enough, as ``head`` has.

    Drops what is left for it, over which Python would fail at its end.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return "" if isinstance(error, BrokenPipeError) else f"nothing can be written to stdout: {error.strerror}"
    return ""


def complain(line: str) -> None:
    """An error's line on stderr. Where that fails, too, the exit code says all."""
    with suppress(OSError):
        print(f"fusesearch: {' '.join(line.split())}", file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    """Print ``value`` as one JSON document: indented on a terminal, one line when piped."""
    indent = 2 if sys.stdout.isatty() else None
    text = json.dumps(value, indent=indent, ensure_ascii="utf" not in (sys.stdout.encoding or "utf").lower())
    print(_CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text), flush=True)


def read_input(path: Path, what: str) -> str:
    """Text of ``path``, or of stdin for ``-``: UTF-8, UTF-16 without a mark, or as its mark says. Undecodable bytes are replaced.

    Raises :class:`DataError`.
    """
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read the {what} {path}: {error.strerror or error}") from None
    even, odd = data[:4096:2].count(0), data[1:4096:2].count(0)
    if even != odd and marked(data[:4]) is None:  # no text of UTF-8 has a NUL, each line's end in UTF-16 has one
        data = (codecs.BOM_UTF16_BE if even > odd else codecs.BOM_UTF16_LE) + data
    return decoded(data)


def save_text(path: Path, text: str) -> None:
    """Write a file the user asked for, atomically; a device such as ``/dev/stdout`` or a link is written and stays.

    Raises :class:`DataError` when that fails.
    """
    from fusesearch.core.storage import write_text

    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            path.write_text(text, encoding="utf-8")
        else:
            write_text(path, text)
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}") from None


def usage_error(message: str, option: str) -> typer.BadParameter:
    """A wrong option or argument: exit code 2."""
    import typer  # here, because an answer starts without it

    return typer.BadParameter(message, param_hint=f"'{option}'")
