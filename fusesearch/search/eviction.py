"""Keeps a cache of snapshots below a limit: removes the least recently used trees, then blobs without a link.

Every use touches the folder, and anything used within a day stays regardless of the limit. No episode takes that long, so a tree
in use is never removed. Removal starts with a rename into ``tmp/``, so that nobody finds half a tree. Blobs need no such
care: a snapshot that was about to link to a removed blob fetches it again.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from fusesearch.core.errors import ConfigError

LIMIT_VARIABLE = "FUSESEARCH_CACHE_GB"
"""Environment variable: largest size of a cache in GB (10^9 bytes)."""

DEFAULT_GB = 20
GRACE_SECONDS = 24 * 3600.0

_KEPT = 0.8  # of the limit, so that one eviction makes room for many snapshots
_BLOCK = 512  # unit of st_blocks


def evict(cache_dir: Path, limit: int) -> None:
    """Shrink a cache above ``limit`` to four fifths of it. Does nothing while another process does so."""
    with suppress(Timeout), FileLock(cache_dir / "evict.lock", timeout=0):
        folders, total = measure(cache_dir)
        if total <= limit:
            return
        for folder in folders:
            if total > limit * _KEPT and _is_old(folder):
                total -= _remove(folder, cache_dir)
        drop_blobs(cache_dir)


def touch(folder: Path) -> bool:
    """Record a use of ``folder``. Returns whether it exists."""
    try:
        os.utime(folder)
    except FileNotFoundError:
        return False
    except PermissionError:  # another user's folder in a shared cache
        return folder.is_dir()
    return True


def measure(cache_dir: Path) -> tuple[list[Path], int]:
    """Walk a cache: its trees, the least recently used first, and its bytes on disk. Their content counts once, as blobs."""
    folders: list[tuple[float, Path]] = []
    total = sum(map(_size, _walk(cache_dir / "blobs")))
    for folder in (cache_dir / "trees").iterdir():
        with suppress(FileNotFoundError):
            folders.append((folder.stat().st_mtime, folder))
            total += sum(_size(entry, most_names=1) for entry in _walk(folder))
    return [folder for _, folder in sorted(folders)], total


def drop_blobs(cache_dir: Path) -> None:
    """Remove blobs that no tree links to."""
    for entry in _walk(cache_dir / "blobs"):
        with suppress(FileNotFoundError, PermissionError):
            if not entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_nlink == 1:
                os.unlink(entry.path)


def limit_from_environment() -> int:
    """Largest size of a cache in bytes, from ``FUSESEARCH_CACHE_GB`` or 20 GB. Raises :class:`ConfigError` if that is invalid."""
    text = os.environ.get(LIMIT_VARIABLE, "").strip() or str(DEFAULT_GB)
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text, re.ASCII) or not float(text):
        raise ConfigError(f"{LIMIT_VARIABLE} is {text!r}: set it to the GB that snapshots may take, such as 20")
    return int(float(text) * 1e9)


def _is_old(folder: Path) -> bool:
    try:
        return folder.stat().st_mtime < time.time() - GRACE_SECONDS
    except FileNotFoundError:
        return False


def _remove(folder: Path, cache_dir: Path) -> int:
    """Remove a folder. Returns the bytes freed; 0 if it belongs to another user."""
    aside = Path(tempfile.mkdtemp(dir=cache_dir / "tmp"))
    with suppress(FileNotFoundError, PermissionError):
        os.rename(folder, aside / folder.name)
    # a file linked only from this tree and blobs/ counts, because its blob goes afterwards
    freed = sum(_size(entry, most_names=2) for entry in _walk(aside))
    shutil.rmtree(aside, ignore_errors=True)
    return freed


def _size(entry: os.DirEntry[str], most_names: int | None = None) -> int:
    """Bytes on disk; 0 for a file with more than ``most_names`` hard links, and if it has vanished."""
    try:
        status = entry.stat(follow_symlinks=False)
        shared = most_names is not None and status.st_nlink > most_names and not entry.is_dir(follow_symlinks=False)
    except FileNotFoundError:
        return 0
    return 0 if shared else status.st_blocks * _BLOCK


def _walk(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Everything below a folder, skipping what vanishes meanwhile."""
    pending = [str(folder)]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    yield entry
        except FileNotFoundError:
            continue
