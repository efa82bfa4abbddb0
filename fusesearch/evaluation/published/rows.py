"""Rows of published files, one at a time: JSON lines, or one JSON document. The content is untrusted.

Each row is validated against a strict model. Raises :class:`DataError` with file and line for a row that does not fit the
format, so that nothing is lost silently. Absent and null values are empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from fusesearch.core.errors import DataError, first_fault

MAX_ROW_BYTES = 64 << 20
"""Longer lines are refused."""

BOM = b"\xef\xbb\xbf"  # which some editors put before the first line


class ReleasedRow(BaseModel):
    """Base of the formats' rows: ignores other columns and does not convert types."""

    model_config = ConfigDict(extra="ignore", strict=True)


R = TypeVar("R", bound=BaseModel)


def json_lines(path: Path, model: type[R]) -> Iterator[R]:
    """Rows of a JSON-lines file, read line by line."""
    try:
        with path.open("rb") as handle:
            number = 0
            while line := handle.readline(MAX_ROW_BYTES + 1):
                number += 1
                if len(line) > MAX_ROW_BYTES:
                    raise DataError(f"{path}:{number}: the line is longer than {MAX_ROW_BYTES:,} bytes")
                if line.strip():
                    yield _checked(f"{path}:{number}", line.removeprefix(BOM), model)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None


def json_document(path: Path, model: type[R]) -> R:
    """The one object of a JSON file."""
    try:
        with path.open("rb") as handle:
            data = handle.read(MAX_ROW_BYTES + 1)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    if len(data) > MAX_ROW_BYTES:
        raise DataError(f"{path} is longer than {MAX_ROW_BYTES:,} bytes")
    return _checked(str(path), data, model)


def _checked(where: str, row: bytes, model: type[R]) -> R:
    try:
        return model.model_validate_json(row)
    except ValidationError as error:
        raise DataError(f"{where}: {first_fault(error)}") from None
