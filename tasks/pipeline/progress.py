"""What a running stage has done so far, kept where a killed run finds it again.

DVC deletes a stage's outputs before it runs the stage, so unfinished work lies elsewhere: in
``.fusesearch/progress/<stage>-<digest>``, the digest covering everything the work depends on. The same inputs find the
same folder and go on; other inputs find an empty one. A finished stage publishes its results and removes the folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from tasks.core.errors import ArtifactError
from tasks.pipeline.layout import STATE

Progress = Callable[[int, int], None]
"""Called by a long stage with rows done and rows in all."""


def silent(done: int, total: int) -> None:
    """A :data:`Progress` that shows nothing."""


def progress_dir(stage: str, *parts: Any, root: Path = STATE / "progress") -> Path:
    """The folder for unfinished work of ``stage`` on these inputs; made if it is not there.

    Args:
        stage: name of the stage.
        parts: what the work depends on: paths (their contents count), params sections, plain values.
        root: where such folders lie.

    Raises:
        ArtifactError: a path among ``parts`` does not exist.
    """
    folder = root / _folder(stage, *parts)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def is_of(folder: Path, stage: str, *parts: Any) -> bool:
    """Whether the folder is that of ``stage`` on these inputs as they are now. Raises what :func:`progress_dir` raises."""
    return folder.name == _folder(stage, *parts)


def _folder(stage: str, *parts: Any) -> str:
    return f"{stage}-{digest(*parts)[:16]}"


def finished(stage: str, root: Path = STATE / "progress") -> None:
    """Remove all unfinished work of ``stage``: its results are published."""
    for folder in root.glob(f"{stage}-*"):
        if folder.name.rpartition("-")[0] == stage:
            shutil.rmtree(folder, ignore_errors=True)


def publish(source: Path, target: Path) -> None:
    """Move a finished file or folder to its final name; what stood there is replaced, never mixed with it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    old = target.with_name(f".partial-{uuid.uuid4().hex[:8]}-{target.name}")
    if target.is_dir():
        os.replace(target, old)
    os.replace(source, target)
    shutil.rmtree(old, ignore_errors=True)


def digest(*parts: Any) -> str:
    """Hexadecimal SHA-256 over paths (contents and relative names), params sections and plain values."""
    total = hashlib.sha256()
    for part in parts:
        total.update(_part(part).encode())
        total.update(b"\0")
    return total.hexdigest()


def file_digest(path: Path) -> str:
    """MD5 of one file, the figure DVC records in ``dvc.lock`` for it."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _part(part: Any) -> str:
    if isinstance(part, Path):
        return _path(part)
    if isinstance(part, BaseModel):
        return part.model_dump_json()
    return json.dumps(part, sort_keys=True, default=str)


def _path(path: Path) -> str:
    if path.is_file():
        return file_digest(path)
    if path.is_dir():
        return "\n".join(f"{child.relative_to(path).as_posix()} {file_digest(child)}" for child in _files(path))
    raise ArtifactError(f"{path} is missing: run the stage that makes it (`dvc repro`)")


def _files(folder: Path) -> Iterator[Path]:
    """Files below ``folder`` in a fixed order, without caches of the interpreter."""
    for child in sorted(folder.rglob("*")):
        if child.is_file() and "__pycache__" not in child.parts and not child.name.startswith(".partial-"):
            yield child
