"""Shared by commands: print JSON, read a file or stdin, write a file, usage errors."""

from __future__ import annotations

import json
import re
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fusesearch.core.errors import DataError
from fusesearch.core.text import decoded

if TYPE_CHECKING:
    import typer

_CONTROLS = re.compile("[\x7f-\x9f]")  # json.dumps does not escape these, and some terminals obey them


class Format(StrEnum):
    """How a command prints its result."""

    text = "text"
    json = "json"


def print_json(value: Any) -> None:
    """Print ``value`` as one JSON document: indented on a terminal, one line when piped."""
    indent = 2 if sys.stdout.isatty() else None
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:  # lone surrogates, or a terminal that is not UTF-8
        text = json.dumps(value, indent=indent)
    print(_CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text), flush=True)


def read_input(path: Path, what: str) -> str:
    """Text of ``path``, or of stdin for ``-``: UTF-8, or as its mark says. Undecodable bytes are replaced.

    Raises :class:`DataError`.
    """
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read the {what} {path}: {error.strerror or error}") from None
    return decoded(data)


def save_text(path: Path, text: str) -> None:
    """Write a file the user asked for, atomically. Raises :class:`DataError` when that fails."""
    from fusesearch.core.storage import write_text

    try:
        write_text(path, text)
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}") from None


def usage_error(message: str, option: str) -> typer.BadParameter:
    """A wrong option or argument: exit code 2."""
    import typer  # here, because an answer starts without it

    return typer.BadParameter(message, param_hint=f"'{option}'")
