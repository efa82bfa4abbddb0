"""Artifacts on disk: written to a temporary name in the same folder, flushed, then renamed.

A process killed at any moment leaves either the old file, the new file, or a ``.partial-*`` file that nobody reads.
Rows of a long stage go to a :class:`Journal`, one JSON line each, so that a killed stage can resume.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from fusesearch.core.errors import ArtifactError, DataError, first_fault
from fusesearch.core.schema import Instance, Trajectory, Truth

M = TypeVar("M", bound=BaseModel)

INSTANCE_COLUMNS = (
    "instance_id", "repo", "base_commit", "problem_statement", "patch", "truth", "provenance", "extra",
)  # fmt: skip
PART_ROWS = 10_000
PART_CHARS = 32_000_000
"""Rows and characters after which a part of a table is written."""

READ_ROWS = 500

Progress = Callable[[int, int], None]
"""Called by a long stage with the rows done and the total."""


def silent(done: int, total: int) -> None:
    """A :data:`Progress` that shows nothing."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; rename it over ``path`` when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".partial-{uuid.uuid4().hex[:8]}-{path.name}")
    try:
        yield temporary
        with temporary.open("rb") as handle:
            os.fsync(handle.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Yield the name of a folder beside ``path``, which takes its place when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".partial-{uuid.uuid4().hex[:8]}-{path.name}")
    try:
        yield temporary
        shutil.rmtree(path, ignore_errors=True)
        os.replace(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8, atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as indented JSON, atomically."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_text(path: Path) -> str:
    """Text of the user's UTF-8 file. Raises :class:`DataError` when it cannot be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None


def read_json(path: Path) -> Any:
    """Read JSON. Raises :class:`ArtifactError` naming the file when it is missing or corrupt."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ArtifactError(f"{path} is missing") from None
    except (ValueError, OSError) as error:
        raise ArtifactError(f"{path} is not valid JSON ({error})") from None


def write_jsonl(path: Path, rows: Iterable[BaseModel | dict[str, Any]]) -> int:
    """Write one JSON object per line, atomically. Returns the number of rows."""
    count = 0
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as handle:
        for row in rows:
            handle.write(_line(row))
            count += 1
    return count


def write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Rows as CSV, atomically; columns are the keys of all rows in the order they first appear.

    Without rows the one column is ``empty``: DVC refuses to plot a file without a header.
    """
    columns = list(dict.fromkeys(key for row in rows for key in row)) or ["empty"]
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, columns)
        writer.writeheader()
        writer.writerows(rows)


def read_csv(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file. Raises :class:`ArtifactError` when it cannot be read."""
    try:
        with path.open(encoding="utf-8", newline="") as handle:
            return list(csv.DictReader(handle))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ArtifactError(f"{path} cannot be read: {' '.join(str(error).split())}") from None


def read_jsonl(path: Path, model: type[M]) -> Iterator[M]:
    """Yield one ``model`` per line. Raises :class:`ArtifactError` with file and line on the first bad one."""
    for number, line in _lines(path):
        try:
            yield model.model_validate_json(line)
        except ValidationError as error:
            raise ArtifactError(f"{path}:{number}: {first_fault(error)}") from None


def read_trajectories(path: Path) -> list[Trajectory]:
    """All trajectories of a JSONL file."""
    return list(read_jsonl(path, Trajectory))


def write_instances(path: Path, instances: Iterable[Instance]) -> int:
    """Write instances as Parquet: SWE-bench columns as they are, ``truth`` and the rest as JSON strings.

    Works for more instances than fit in memory: writes parts of some 30 MB and joins them.
    """
    import polars as pl

    path.parent.mkdir(parents=True, exist_ok=True)
    schema = {name: pl.String for name in INSTANCE_COLUMNS}
    count = 0
    parts: list[Path] = []
    with TemporaryDirectory(prefix=".partial-", dir=path.parent) as folder, replacing(path) as temporary:
        for rows in _parts(map(_instance_row, instances)):
            parts.append(Path(folder) / f"{len(parts):06}.parquet")
            pl.DataFrame(rows, schema=schema).write_parquet(parts[-1], statistics=False)
            count += len(rows)
        if len(parts) > 1:
            pl.scan_parquet(parts).sink_parquet(temporary, statistics=False, row_group_size=PART_ROWS)
        else:
            os.replace(parts[0], temporary)
    return count


def _parts(rows: Iterable[dict[str, str | None]]) -> Iterator[list[dict[str, str | None]]]:
    """Rows in lists of limited size; one empty list for no rows."""
    part: list[dict[str, str | None]] = []
    size, first = 0, True
    for row in rows:
        if part and (len(part) >= PART_ROWS or size >= PART_CHARS):
            yield part
            part, size, first = [], 0, False
        part.append(row)
        size += sum(len(value) for value in row.values() if value)
    if part or first:
        yield part


def read_instances(path: Path) -> list[Instance]:
    """Read what :func:`write_instances` wrote. Raises :class:`ArtifactError` when it cannot be read."""
    return list(iter_instances(path))


def iter_instances(path: Path, repos: Iterable[str] | None = None) -> Iterator[Instance]:
    """Like :func:`read_instances`, but streamed; of all repositories or only ``repos``."""
    for row in iter_rows(path, repos=repos):
        try:
            yield instance_of(row)
        except DataError as error:
            raise _unreadable(path, error) from None


def iter_rows(
    path: Path, columns: Sequence[str] = INSTANCE_COLUMNS, repos: Iterable[str] | None = None
) -> Iterator[dict[str, Any]]:
    """Rows of a table of instances as stored, in order; of all repositories or only ``repos``.

    Raises :class:`ArtifactError` when the file cannot be read or lacks a column.
    """
    import polars as pl

    try:
        rows = pl.scan_parquet(path, low_memory=True)
        chosen = rows if repos is None else rows.filter(pl.col("repo").is_in(list(repos)))
        for frame in chosen.select(columns).collect_batches(chunk_size=READ_ROWS, maintain_order=True):
            yield from frame.iter_rows(named=True)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _unreadable(path, error) from None


def count_rows(path: Path) -> int:
    """Rows of a table of instances. Raises :class:`ArtifactError` when it cannot be read."""
    import polars as pl

    try:
        return int(pl.scan_parquet(path).select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> ArtifactError:
    if isinstance(error, FileNotFoundError):
        return ArtifactError(f"{path} is missing")
    return ArtifactError(f"{path} is not a table of instances ({_first_line(error)})")


def instance_of(row: Mapping[str, Any]) -> Instance:
    """The instance of a stored row. Raises :class:`DataError` for a malformed row, such as one with damaged JSON."""
    try:
        data = {name: row[name] for name in INSTANCE_COLUMNS[:5]}
        truth = Truth.model_validate_json(row["truth"]) if row["truth"] else None
        extra = json.loads(row["extra"] or "{}")
        return Instance(**{**extra, **data}, truth=truth, provenance=json.loads(row["provenance"] or "{}"))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise DataError(f"row {str(row.get('instance_id'))[:80]!r}: {_first_line(error)}") from None


class Journal:
    """Append-only JSON lines with a key per row: the rows a stage has finished, safe against being killed.

    Opening drops a torn last line, left by a process that died while writing. A key is never written twice.
    """

    def __init__(self, path: Path, key: str) -> None:
        self.path = path
        self.key = key
        self.rows: dict[str, dict[str, Any]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        self._recover()
        self._handle = path.open("a", encoding="utf-8")

    def _recover(self) -> None:
        if not self.path.exists():
            return
        good: list[str] = []
        for line in self.path.read_bytes().split(b"\n"):
            try:
                row = json.loads(line)
                self.rows.setdefault(str(row[self.key]), row)
                good.append(line.decode())
            except (ValueError, KeyError, TypeError):
                continue
        write_text(self.path, "".join(f"{line}\n" for line in good))

    def __contains__(self, key: str) -> bool:
        return key in self.rows

    def __len__(self) -> int:
        return len(self.rows)

    def append(self, row: BaseModel | dict[str, Any]) -> None:
        """Add one row and flush it to disk. A row whose key is known is ignored."""
        data = row.model_dump(mode="json") if isinstance(row, BaseModel) else row
        key = str(data[self.key])
        if key in self.rows:
            return
        self.rows[key] = data
        self._handle.write(_line(data))
        self._handle.flush()
        os.fsync(self._handle.fileno())

    def close(self) -> None:
        """Close the file; the rows stay on disk."""
        self._handle.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _line(row: BaseModel | dict[str, Any]) -> str:
    if isinstance(row, BaseModel):
        return row.model_dump_json() + "\n"
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n"


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8") as handle:
            yield from ((number, line) for number, line in enumerate(handle, 1) if line.strip())
    except FileNotFoundError:
        raise ArtifactError(f"{path} is missing") from None
    except UnicodeDecodeError as error:
        raise ArtifactError(f"{path} is not UTF-8 text ({error.reason}): it is corrupt") from None


def _instance_row(instance: Instance) -> dict[str, str | None]:
    return {
        "instance_id": instance.instance_id,
        "repo": instance.repo,
        "base_commit": instance.base_commit,
        "problem_statement": instance.problem_statement,
        "patch": instance.patch,
        "truth": instance.truth.model_dump_json() if instance.truth else None,
        "provenance": json.dumps(instance.provenance, ensure_ascii=False),
        "extra": json.dumps(instance.model_extra or {}, ensure_ascii=False),
    }


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
