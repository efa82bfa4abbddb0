"""What a running stage has done so far, kept where a killed run finds it again.

DVC deletes a stage's outputs before it runs the stage, so unfinished work lies elsewhere: in
``.fusesearch/progress/<stage>-<digest>``, the digest covering everything the work depends on. The same inputs find the
same folder and go on; other inputs find an empty one. A finished stage publishes its results and removes the folder.
"""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path
from typing import Any

from tasks.core.digests import digest
from tasks.pipeline.layout import STATE


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
