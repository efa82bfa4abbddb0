"""Which rows a stage dropped, and the rule that dropped each, as CSV: ``id,rule``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fusesearch.core.errors import ArtifactError
from fusesearch.core.storage import read_csv, write_csv


def write_dropped(path: Path, dropped: Iterable[tuple[str, str]]) -> None:
    """Write ids of dropped rows, each with its rule; lone surrogates, which UTF-8 cannot encode, are escaped."""
    names = ((name[:200].encode("utf-8", "backslashreplace").decode(), rule) for name, rule in dropped)
    write_csv(path, [{"id": name, "rule": rule} for name, rule in names])


def read_dropped(path: Path) -> dict[str, str]:
    """The rule by id in what :func:`write_dropped` wrote. Raises :class:`ArtifactError` for a table of another kind."""
    rows = read_csv(path)
    if any({"id", "rule"} - row.keys() for row in rows):
        raise ArtifactError(f"{path} lacks the columns id and rule")
    return {row["id"]: row["rule"] for row in rows}
