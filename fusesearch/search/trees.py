"""Builds the folder of a git tree from files that all trees share."""

from __future__ import annotations

import errno
import io
import os
import shutil
import tempfile
from collections.abc import Container
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from fusesearch.core.errors import RepositoryError
from fusesearch.search.git import LINK, Entry, Git

_CHUNK = 1 << 20
_PAGE = 4096  # smallest size of a file or folder on common file systems
_ATTEMPTS = 10


@dataclass
class TreeBuilder:
    """Builds trees in ``cache_dir`` from the objects of ``git``."""

    cache_dir: Path
    git: Git
    empty: Container[str] = ()
    """Ids of blobs that the clone lacks, whose files are made empty."""
    added: int = field(default=0, init=False)
    """Approximate bytes on disk added so far."""

    def build(self, tree_id: str, final: Path) -> None:
        """Make the folder ``final``, completely or not at all. Raises :class:`RepositoryError` on failure."""
        entries = [entry for entry in self.git.entries(tree_id) if _is_safe(entry)]
        work = Path(tempfile.mkdtemp(dir=self.cache_dir / "tmp"))
        try:
            self._make_folders(work / "tree", entries)
            self._fill(work, entries)
            os.rename(work / "tree", final)
        except OSError as error:
            if not final.is_dir():
                raise RepositoryError(f"the snapshot {final} cannot be built: {error.strerror or error}") from None
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def _make_folders(self, tree: Path, entries: list[Entry]) -> None:
        folders = {""}
        for entry in entries:
            folder = entry.path.rpartition("/")[0]
            while folder not in folders:
                folders.add(folder)
                folder = folder.rpartition("/")[0]
        for folder in sorted(folders):
            os.mkdir(f"{tree}/{folder}")
        self.added += _PAGE * len(folders)

    def _fill(self, work: Path, entries: list[Entry]) -> None:
        """Write files first and links last, so that no file is written through a link of the same tree."""
        for links in (False, True):
            pending = [entry for entry in entries if (entry.mode == LINK) == links]
            for _ in range(_ATTEMPTS):  # more than two only if blobs are evicted before they are used
                pending = [entry for entry in pending if not self._place(entry, f"{work}/tree/{entry.path}")]
                if not pending:
                    break
                self._fetch(work, {entry.blob for entry in pending})
            else:
                raise RepositoryError(f"blobs are evicted as soon as they are written: raise the limit of {self.cache_dir}")

    def _place(self, entry: Entry, target: str) -> bool:
        """Put one entry into the tree. False if its blob is missing."""
        blob = self._blob(entry.blob)
        try:
            if entry.blob in self.empty:
                _write(target, io.BytesIO(), 0)
            elif entry.mode == LINK:
                text = Path(blob).read_bytes()
                with suppress(OSError, ValueError):  # leave out a link whose text the file system rejects (too long, NUL)
                    os.symlink(text, os.fsencode(target))
            else:
                self._link(blob, target)
        except FileNotFoundError:
            return False
        return True

    def _link(self, blob: str, target: str) -> None:
        try:
            os.link(blob, target)
        except OSError as error:
            if error.errno not in (errno.EMLINK, errno.EPERM, errno.EOPNOTSUPP):
                raise
            # the file system has no hard links, or this file has reached its limit (65,000 on ext4)
            shutil.copy(blob, target)
            self.added += _pages(os.path.getsize(target))
            if error.errno == errno.EMLINK:  # a new copy of the blob takes the next links
                descriptor, fresh = tempfile.mkstemp(dir=self.cache_dir / "tmp")
                os.close(descriptor)
                shutil.copy(blob, fresh)
                os.replace(fresh, blob)

    def _fetch(self, work: Path, blobs: set[str]) -> None:
        for blob, size, stream in self.git.contents(sorted(blobs)):
            fresh = f"{work}/{blob}"
            _write(fresh, stream, size)
            final = self._blob(blob)
            try:
                os.replace(fresh, final)
            except FileNotFoundError:
                os.makedirs(os.path.dirname(final), exist_ok=True)
                os.replace(fresh, final)
            self.added += _pages(size)

    def _blob(self, blob: str) -> str:
        return f"{self.cache_dir}/blobs/{blob[:2]}/{blob[2:]}"


def _is_safe(entry: Entry) -> bool:
    """Whether an entry is harmless: a hostile tree may have ``..`` or ``.git`` in names, or an ignore file that is a link."""
    parts = entry.path.split("/")
    if entry.mode == LINK and parts[-1] == ".gitignore":
        return False
    return all(part not in ("", ".", "..") and part.lower() != ".git" for part in parts)


def _write(path: str, stream: IO[bytes], size: int) -> None:
    """Write the next ``size`` bytes of the stream to a new read-only file."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444), "wb", buffering=0) as handle:
        os.fchmod(handle.fileno(), 0o444)  # regardless of the umask
        while size > 0:
            chunk = stream.read(min(size, _CHUNK))
            if not chunk:
                raise RepositoryError("git ended in the middle of an object")
            handle.write(chunk)
            size -= len(chunk)


def _pages(size: int) -> int:
    """Bytes on disk for a file of ``size`` bytes."""
    return -(-size // _PAGE) * _PAGE
