"""The bound on a cache of snapshots: what it holds, who uses what, and what goes first.

A tree in use is leased: its user holds a shared ``flock`` on the folder itself, and whoever wants to evict it needs the
exclusive one. The kernel frees the locks of a process that ends in any way, so no lease outlives its user, and no time of
grace has to be guessed that a long episode could outlast. A tree leaves by a rename into ``tmp/``, so a half-removed one is
never found under its name. On a file system that cannot lock folders, nothing is evicted.

Blobs need no lock: those that no tree links to are removed, and a snapshot that was about to link to one fetches it again.

The file ``room`` holds how many bytes may still be added before the cache is measured. Adding a snapshot subtracts from it;
only when it is used up is the cache walked. A killed process may leave the figure too high by what it had added itself; the
next walk mends that.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tasks.core.errors import ConfigError

LIMIT_VARIABLE = "FUSESEARCH_CACHE_GB"
"""Environment variable: bytes a cache may hold, in GB (10^9)."""

DEFAULT_GB = 20

_EVICTED = "evicted-"

_KEPT = 0.8  # of the limit: an eviction makes room for many snapshots at once
_BLOCK = 512  # unit of st_blocks


@dataclass(frozen=True)
class Item:
    """Something that can be evicted: a tree or a clone, when it was last used (seconds), bytes on disk that are its own."""

    path: Path
    used: float
    size: int


@dataclass(frozen=True)
class Usage:
    """What a cache holds, in bytes on disk. The content of trees counts once, under ``blobs``."""

    trees: list[Item] = field(default_factory=list)
    clones: list[Item] = field(default_factory=list)
    blobs: int = 0

    @property
    def total(self) -> int:
        """Bytes of everything."""
        return self.blobs + sum(item.size for item in (*self.trees, *self.clones))


class Bound:
    """Keeps the cache in ``cache_dir`` below ``limit`` bytes, but for what is in use."""

    def __init__(self, cache_dir: Path, limit: int) -> None:
        self.cache_dir = cache_dir
        self.limit = limit

    def charge(self, added: int) -> None:
        """Note that ``added`` bytes came in; evict when the limit is reached."""
        with locked(self.cache_dir / "room.lock"):
            room = self._room() - added
            self._write_room(room)
        if room < 0:
            self.evict()

    def evict(self) -> int:
        """Evict down to four fifths of the limit; bytes freed. Does nothing while another process does it.

        Trees go first, the least recently used of them first of all, then clones, which cost a download.
        """
        with locked(self.cache_dir / "evict.lock", wait=False) as mine:
            if not mine:
                return 0
            self._finish_others()
            usage = measure(self.cache_dir)
            excess = usage.total - int(self.limit * _KEPT) if usage.total > self.limit else 0
            freed = 0
            for item in [*_oldest_first(usage.trees), *_oldest_first(usage.clones)]:
                if freed >= excess:
                    break
                freed += self._remove(item)
            if excess > 0:
                self._drop_blobs()
            with locked(self.cache_dir / "room.lock"):
                self._write_room(max(self.limit - usage.total + freed, self.limit // 10))
            return freed

    def _remove(self, item: Item) -> int:
        """Bytes freed; 0 when it is in use, or not ours to remove.

        A file that only this tree and ``blobs/`` name counts: its blob goes afterwards.
        """
        aside = Path(tempfile.mkdtemp(prefix=_EVICTED, dir=self.cache_dir / "tmp"))
        with exclusive(item.path) as free, suppress(PermissionError):
            if free:
                os.rename(item.path, aside / item.path.name)
        freed = sum(_size(entry, names=2) for entry in _walk(aside))
        shutil.rmtree(aside, ignore_errors=True)
        return freed

    def _drop_blobs(self) -> None:
        for entry in _walk(self.cache_dir / "blobs"):
            with suppress(FileNotFoundError, PermissionError):
                if not entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_nlink == 1:
                    os.unlink(entry.path)

    def _finish_others(self) -> None:
        """Remove what an eviction that was killed had set aside: there is never more than one at a time."""
        for entry in os.scandir(self.cache_dir / "tmp"):
            if entry.name.startswith(_EVICTED):
                shutil.rmtree(entry.path, ignore_errors=True)

    def _room(self) -> int:
        """Bytes left; none where the file is new or damaged, or was written for another limit: then the cache is measured."""
        try:
            limit, room = map(int, (self.cache_dir / "room").read_text(encoding="ascii").split())
        except (OSError, ValueError):
            return 0
        return room if limit == self.limit else 0

    def _write_room(self, room: int) -> None:
        (self.cache_dir / "room").write_text(f"{self.limit} {room}\n", encoding="ascii")


def limit_from_environment() -> int:
    """Bytes a cache may hold: ``FUSESEARCH_CACHE_GB``, else 20 GB. Raises :class:`ConfigError` when it is no such number."""
    text = os.environ.get(LIMIT_VARIABLE, "").strip() or str(DEFAULT_GB)
    try:
        gigabytes = float(text)
    except ValueError:
        gigabytes = -1.0
    if not 0 < gigabytes < 1e9:
        raise ConfigError(f"{LIMIT_VARIABLE} is {text!r}: set it to the GB that snapshots may take, such as 20")
    return int(gigabytes * 1e9)


def measure(cache_dir: Path) -> Usage:
    """What a cache holds now; walks all of it."""
    return Usage(
        trees=_items(cache_dir / "trees"),
        clones=[item for item in _items(cache_dir / "clones") if item.path.suffix == ".git"],
        blobs=folder_bytes(cache_dir / "blobs"),
    )


def folder_bytes(folder: Path) -> int:
    """Bytes on disk of everything in a folder; 0 when there is none."""
    return sum(map(_size, _walk(folder)))


def lease(folder: Path) -> int | None:
    """Descriptor that keeps ``folder`` from being evicted until it is closed; None when the folder is gone.

    Counts as a use of the folder. Raises OSError when no descriptor can be had.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with suppress(OSError):  # no locks on this file system, so no eviction either
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    if not _is_at(descriptor, folder):
        os.close(descriptor)
        return None
    with suppress(PermissionError):  # somebody else's folder in a shared cache
        os.utime(descriptor)
    return descriptor


@contextmanager
def exclusive(folder: Path) -> Iterator[bool]:
    """Whether ``folder`` is there and nobody's; then nobody can lease it within the context."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield False
        return
    try:
        yield _try_lock(descriptor) and _is_at(descriptor, folder)
    finally:
        _unlock(descriptor)


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold the lock file ``path``; without ``wait``, False when another process holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        if wait:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield True
        else:
            yield _try_lock(descriptor)
    finally:
        _unlock(descriptor)


def _unlock(descriptor: int) -> None:
    """Said outright: a process forked meanwhile has the descriptor too, and closing ours would leave it the lock."""
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_at(descriptor: int, folder: Path) -> bool:
    """Whether the open folder still has that name: it may have been evicted while its lock was waited for."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(folder))
    except FileNotFoundError:
        return False


def _oldest_first(items: list[Item]) -> list[Item]:
    return sorted(items, key=lambda item: item.used)


def _items(parent: Path) -> list[Item]:
    """The folders in ``parent``, each with what is its own: folders, and files that have no other name."""
    found = []
    for entry in os.scandir(parent):
        with suppress(FileNotFoundError):
            if entry.is_dir(follow_symlinks=False):
                size = _size(entry) + sum(_size(inner, names=1) for inner in _walk(Path(entry.path)))
                found.append(Item(Path(entry.path), entry.stat(follow_symlinks=False).st_mtime, size))
    return found


def _size(entry: os.DirEntry[str], names: int | None = None) -> int:
    """Bytes on disk; 0 for a file with more than so many ``names``, and for what has vanished."""
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return 0
    shared = names is not None and status.st_nlink > names and not stat.S_ISDIR(status.st_mode)
    return 0 if shared else status.st_blocks * _BLOCK


def _walk(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Everything below a folder; what vanishes meanwhile is left out."""
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
