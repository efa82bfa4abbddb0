"""What a running stage has done so far, kept where a killed run finds it again.

DVC deletes a stage's outputs before it runs the stage, so unfinished work lies elsewhere: in
``.fusesearch/progress/<stage>-<digest>``, the digest covering everything the work depends on. The same inputs find the
same folder and go on; other inputs find an empty one. A finished stage publishes its results and removes the folder.
"""

from __future__ import annotations

import errno
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from fusesearch.core.digests import digest, file_digest
from fusesearch.core.errors import AlreadyRunning, ArtifactError
from tasks.running.places import STATE
from tasks.running.process import is_alive, starters

SETTLED_SECONDS = 2.0
"""Age from which a file's time tells whether it was changed: clocks of file systems are coarse."""
ENDING_SECONDS = 45.0
"""How long a stage may take to end after the process that started it is gone."""


def progress_dir(stage: str, *parts: Any, root: Path = STATE / "progress") -> Path:
    """The folder for unfinished work of ``stage`` on these inputs; made if it does not exist.

    ``parts`` are what the work depends on: paths (their contents count), params sections, plain values. Raises
    :class:`ArtifactError` for a path that does not exist.
    """
    try:
        folder = root / _folder(stage, *parts)
    except ArtifactError as error:
        raise ArtifactError(f"{error}: run the stage that makes it (`dvc repro`)") from None
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def is_of(folder: Path, stage: str, *parts: Any) -> bool:
    """Whether the folder is that of ``stage`` on these inputs as they are now. Raises what :func:`progress_dir` raises."""
    return folder.name == _folder(stage, *parts)


def _folder(stage: str, *parts: Any) -> str:
    return f"{stage}-{digest(*parts, of_file=remembered_digest)[:16]}"


def remembered_digest(path: Path) -> str:
    """As :func:`~fusesearch.core.digests.file_digest`; this process rereads only files whose size, time or inode changed."""
    stat = path.stat()
    if time.time() - stat.st_mtime <= SETTLED_SECONDS:
        return file_digest(path)
    return _digest_of(path, stat.st_size, stat.st_mtime_ns, stat.st_ino)


@cache
def _digest_of(path: Path, *stamp: int) -> str:
    return file_digest(path)


@contextmanager
def alone(name: str, scratch: Path) -> Iterator[None]:
    """Hold the unfinished work in ``scratch``. Raises :class:`AlreadyRunning` where another process is at it.

    One whose starter was killed is about to end: it is waited for.
    """
    lock, owners = FileLock(scratch / ".lock"), scratch / "owners"
    ending = owners.exists() and not all(map(is_alive, owners.read_text(encoding="utf-8").splitlines()))
    try:
        lock.acquire(timeout=ENDING_SECONDS if ending else 0)
    except Timeout:
        raise AlreadyRunning(f"{name} is already running on these inputs: wait for it, or stop it") from None
    try:
        owners.write_text("\n".join(starters()), encoding="utf-8")
        yield
    finally:
        lock.release()


def finished(stage: str, root: Path = STATE / "progress") -> None:
    """Remove all unfinished work of ``stage``: its results are published."""
    for folder in root.glob(f"{stage}-*"):
        if folder.name.rpartition("-")[0] == stage:
            shutil.rmtree(folder, ignore_errors=True)


def publish(source: Path, target: Path) -> None:
    """Move a finished file or folder to its final name; it replaces what stood there and never mixes with it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    old, new = (target.with_name(f".partial-{uuid.uuid4().hex[:8]}-{target.name}") for _ in range(2))
    try:
        os.replace(source, new)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.move(source, new)  # another file system: a copy, which is then renamed like any other
    if target.is_dir():
        os.replace(target, old)
    os.replace(new, target)
    shutil.rmtree(old, ignore_errors=True)
