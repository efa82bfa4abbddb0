"""Digests of values, files and folders."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from fusesearch.core.errors import ArtifactError


def file_digest(path: Path) -> str:
    """MD5 of one file, as in ``dvc.lock``."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def digest(*parts: Any, of_file: Callable[[Path], str] = file_digest) -> str:
    """Hexadecimal SHA-256 over paths (contents and relative names), sections of params and plain values.

    ``of_file`` gives the digest of a file. Raises :class:`ArtifactError` for a path that does not exist.
    """
    total = hashlib.sha256()
    for part in parts:
        total.update(_part(part, of_file).encode())
        total.update(b"\0")
    return total.hexdigest()


def files_below(folder: Path) -> Iterator[Path]:
    """Files below ``folder`` in a fixed order, without compiled Python and unfinished files."""
    for child in sorted(folder.rglob("*")):
        if child.is_file() and "__pycache__" not in child.parts and not child.name.startswith(".partial-"):
            yield child


def _part(part: Any, of_file: Callable[[Path], str]) -> str:
    if isinstance(part, BaseModel):
        return part.model_dump_json()
    if not isinstance(part, Path):
        return json.dumps(part, sort_keys=True, default=str)
    if part.is_file():
        return of_file(part)
    if part.is_dir():
        return "\n".join(f"{child.relative_to(part).as_posix()} {of_file(child)}" for child in files_below(part))
    raise ArtifactError(f"{part} is missing")
