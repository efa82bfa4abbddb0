"""Rows of published files, one at a time: JSON lines, one JSON document, or Parquet. The content is untrusted.

Each row is validated against a strict model. Raises :class:`DataError` with file and line for a row that does not fit the
format, so that nothing is lost silently. Absent and null values are empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from fusesearch.core.errors import DataError, first_fault

MAX_ROW_BYTES = 64 << 20
"""Longer lines are refused; rollouts with all their messages are much shorter."""

BATCH_ROWS = 50
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


def parquet_rows(path: Path, model: type[R]) -> Iterator[R]:
    """Rows of a Parquet file with only the columns of ``model``, a few at a time."""
    import polars as pl

    try:
        frame = pl.scan_parquet(path)
        columns = [name for name in frame.collect_schema().names() if name in model.model_fields]
        number = 0
        for batch in frame.select(columns).collect_batches(chunk_size=BATCH_ROWS, maintain_order=True):
            for row in batch.iter_rows(named=True):
                number += 1
                yield _checked(f"{path}: row {number}", row, model)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{path} is not a Parquet file ({' '.join(str(error).split())[:150]})") from None


def _checked(where: str, row: Any, model: type[R]) -> R:
    try:
        return model.model_validate_json(row) if isinstance(row, bytes) else model.model_validate(row)
    except ValidationError as error:
        raise DataError(f"{where}: {first_fault(error)}") from None
