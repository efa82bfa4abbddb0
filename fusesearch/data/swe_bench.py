"""Read files in the SWE-bench schema: files to rows, rows to instances.

Multi-SWE-bench's columns (``org``, ``base.sha``, ``fix_patch``, ``resolved_issues``) are converted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fusesearch.core.errors import DataError
from fusesearch.core.schema import Instance

REQUIRED = ("instance_id", "repo", "base_commit", "problem_statement", "patch")
BATCH_ROWS = 500


def instances(named: str, rows: Iterable[dict[str, Any]]) -> Iterator[Instance]:
    """Rows as instances with the truth they carry. Raises :class:`DataError` with the missing columns or the malformed row."""
    for number, row in enumerate(rows, 1):
        row = _as_swe_bench(row)
        missing = [column for column in REQUIRED if not isinstance(row.get(column), str)]
        if missing:
            columns = ", ".join(map(str, list(row)[:30])) or "none"
            where = "lacks" if number == 1 else f"row {number}: lacks"
            raise DataError(f"{named}: {where} the columns {', '.join(missing)} (it has {columns})")
        provenance = {"source": "benchmark", "set": named, "row": number}
        truth = row["truth"] if isinstance(row.get("truth"), dict) else None
        try:
            yield Instance.model_validate({**row, "truth": truth, "provenance": provenance})
        except ValidationError as error:
            raise DataError(f"{named}: row {number}: {error.errors()[0]['msg']}") from None


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Rows of a ``.json``, ``.jsonl`` or ``.parquet`` file, all columns. Raises :class:`DataError` naming file and row."""
    readers: dict[str, Callable[[Path], Iterator[dict[str, Any]]]] = {".parquet": _parquet, ".json": _json, ".jsonl": _jsonl}
    read = readers.get(path.suffix)
    if read is None:
        raise DataError(f"{path}: a set is a .json, .jsonl or .parquet file")
    try:
        yield from read(path)
    except FileNotFoundError:
        raise DataError(f"{path} is missing") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}") from None


def _as_swe_bench(row: dict[str, Any]) -> dict[str, Any]:
    """Add SWE-bench's columns to a row of Multi-SWE-bench; return other rows unchanged."""
    if not {"org", "repo", "base", "fix_patch", "resolved_issues"} <= row.keys():
        return row
    issues = [issue for issue in row["resolved_issues"] or [] if isinstance(issue, dict)]
    text = "\n\n".join(f"{issue.get('title') or ''}\n\n{issue.get('body') or ''}".strip() for issue in issues)
    base = row["base"].get("sha") if isinstance(row["base"], dict) else None
    named = {"repo": f"{row['org']}/{row['repo']}", "base_commit": base, "patch": row["fix_patch"], "problem_statement": text}
    return {**row, "instance_id": row.get("instance_id") or f"{row['org']}__{row['repo']}-{row.get('number')}", **named}


def _parquet(path: Path) -> Iterator[dict[str, Any]]:
    import polars as pl

    try:
        for frame in pl.scan_parquet(path).collect_batches(chunk_size=BATCH_ROWS, maintain_order=True):
            yield from frame.iter_rows(named=True)
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{path} is not a Parquet file ({' '.join(str(error).split())[:150]})") from None


def _json(path: Path) -> Iterator[dict[str, Any]]:
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path} is not JSON ({error})") from None
    if not isinstance(rows, list):
        raise DataError(f"{path} is not a list of rows")
    yield from (_row(path, number, row) for number, row in enumerate(rows, 1))


def _jsonl(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as handle:
        for number, line in enumerate(handle, 1):
            if line.strip():
                try:
                    yield _row(path, number, json.loads(line))
                except ValueError as error:
                    raise DataError(f"{path}: line {number} is not JSON ({error})") from None


def _row(path: Path, number: int, row: Any) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise DataError(f"{path}: row {number} is not an object")
    return row
