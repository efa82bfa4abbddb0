"""The facts of all files of a snapshot, kept in one SQLite file under the content of each file.

::

    facts    digest of kind and content -> facts (:mod:`fusesearch.localizers.ranker.facts`), day of the last use
    seen     what the disk says of a file (device, number, size, time of change) -> digest
    commits  id of a commit -> words of its message and files it changed (:mod:`fusesearch.localizers.ranker.history`)

So a commit, a branch, a work tree, a clone or a changed file analyses only contents that are new, and a file that did not change
is not even read. Many new contents are analysed by a process per core (:mod:`fusesearch.localizers.ranker.workers`); who waits
for them hears how far they are, and need not wait to the end (:mod:`fusesearch.localizers.ranker.building`). The SQLite file is
a cache: a damaged one, or one of another version, is replaced, and where it cannot be written, a temporary one serves. Any
number of processes may use it at once. Above its limit it loses the contents that were not used for longest.
"""

from __future__ import annotations

import math
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fusesearch.code.kinds import is_foreign
from fusesearch.core.errors import InfrastructureError
from fusesearch.core.stopping import checked
from fusesearch.core.text import decoded
from fusesearch.localizers.ranker.building import (
    AT_ONCE,
    MAX_FILE_BYTES,
    WAIT_SECONDS,
    Building,
    Progress,
    bytes_of,
    kind_of,
    stems,
)
from fusesearch.localizers.ranker.facts import Facts, analyse, read
from fusesearch.localizers.ranker.paths import is_candidate
from fusesearch.search.repository import Repository

VERSION = 10 << 8 | sys.version_info.minor
"""Changes with what facts contain; the running Python decides which files parse."""

LIMIT_BYTES = 2 << 30
MAX_FILES = 200_000
NAME = "ranker.sqlite"

_DAY_SECONDS = 24 * 3600
_KEPT = 0.8  # of the limit
_FAULTS = (sqlite3.Error, ValueError, TypeError)  # a damaged page can hold text that is not UTF-8, or a number for text
_SCHEMA = """
    PRAGMA auto_vacuum = INCREMENTAL;
    CREATE TABLE IF NOT EXISTS facts (digest BLOB PRIMARY KEY, used INTEGER NOT NULL, facts BLOB NOT NULL);
    CREATE TABLE IF NOT EXISTS seen (file TEXT PRIMARY KEY, digest BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS commits (id TEXT PRIMARY KEY, facts TEXT NOT NULL) WITHOUT ROWID;
"""

_RUNNING: dict[tuple[Path, str], Building] = {}
"""The last one of a server, by index and root."""

_LOCK = threading.Lock()


class Index:
    """Facts of the code files of a repository, tests excluded; a context manager, for one thread.

    ``paths`` are the files in path order, ``digests`` those of their contents. Files that are too large or cannot be read
    have no digest. ``folder`` is where the SQLite file lies; None for a temporary one. Raises :class:`InfrastructureError` if
    not even that can be written.
    """

    def __init__(self, repository: Repository, folder: Path | None, on_progress: Progress | None = None) -> None:
        self.repository = repository
        self._root = str(repository.root)
        self.paths = [path for path in checked(repository.files()) if is_candidate(path, repository.is_visible)][:MAX_FILES]
        self.progress = on_progress or Progress()
        self._temporary: TemporaryDirectory[str] | None = None
        attempts = [None, folder, folder]
        while attempts:
            self._folder = attempts.pop()
            try:
                self._connection = self._open(self._folder)
                self.digests = self._update()
                return
            except (*_FAULTS, OSError) as error:
                if not attempts:
                    raise InfrastructureError(f"the index of these files cannot be written: {error}") from None
                if not self._discarded(error):
                    attempts = [None]

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        if self._temporary:
            self._temporary.cleanup()

    def facts(self, paths: Iterable[str]) -> Iterator[tuple[str, Facts]]:
        """The facts of the files that have some, in an order of its own."""
        named: dict[bytes, list[str]] = {}
        for path in paths:
            if digest := self.digests.get(path):
                named.setdefault(digest, []).append(path)
        for part in checked(_parts(list(named))):
            rows = self._kept("SELECT digest, facts FROM facts WHERE digest IN ({})", part)
            for digest in part:
                path = named[digest][0]
                try:
                    found = read(rows[digest])
                except (KeyError, ValueError, TypeError):  # evicted by another process, or damaged
                    found = read(analyse(path, self.source(path)))
                yield from ((path, found) for path in named[digest])

    def commits(self, ids: Sequence[str]) -> dict[str, str]:
        """What is kept of these commits, by their ids."""
        return self._kept("SELECT id, facts FROM commits WHERE id IN ({})", ids)

    def keep_commits(self, facts: dict[str, str]) -> None:
        """Keep facts of commits by their ids."""
        with suppress(sqlite3.Error):
            self._write("INSERT OR REPLACE INTO commits VALUES (?, ?)", list(facts.items()))

    def source(self, path: str) -> str:
        """The text of a file; empty if it is too large or cannot be read."""
        return decoded(bytes_of(self.repository, path) or b"")

    def _open(self, folder: Path | None) -> sqlite3.Connection:
        if folder is None:
            self._temporary = TemporaryDirectory(prefix="fusesearch-")
            folder = Path(self._temporary.name)
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / NAME
        connection = sqlite3.connect(self._file, timeout=WAIT_SECONDS)
        connection.execute("PRAGMA synchronous = OFF")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, VERSION):
            connection.close()
            raise sqlite3.DatabaseError("another version")
        connection.executescript(f"{_SCHEMA} PRAGMA user_version = {VERSION};")
        return connection

    def _update(self) -> dict[str, bytes]:
        """Digests of the files that have facts, after the analysis of new contents, or of as many as there was time for."""
        key, today = (self._file, self._root), int(time.time()) // _DAY_SECONDS
        while True:
            building = _RUNNING.get(key)
            if busy := building is not None and building.runs:
                building.wait(self.progress)
            files = {path: found for path in checked(self.paths) if (found := self._on_disk(path))}
            known = self._lookup("SELECT file, digest FROM seen WHERE file IN ({})", [key for key, _, _ in files.values()])
            digests = {path: known[key] for path, (key, _, _) in files.items() if key in known}
            have = self._having(digests)
            todo = [path for path, found in files.items() if digests.get(path) not in have and found[2] <= MAX_FILE_BYTES]
            todo.sort(key=self._rank)
            if not todo or (busy and building and building.runs):
                break
            building = Building(self.repository, self._file, {path: files[path] for path in todo}, today)
            if self.progress.patience == math.inf or self._temporary:
                building.run(self.progress)
                break
            with _LOCK:
                if started := not ((other := _RUNNING.get(key)) and other.runs):
                    _RUNNING[key] = building
                    building.start()
            if started:
                building.wait(self.progress)
                break
        partly = building is not None and building.runs
        if todo and building:
            read = building.digests.copy().items()
            digests |= {path: digest for path, digest in read if building.files[path] == files.get(path)}
            have = self._having(digests)
            self._evict(today)
        self._write("UPDATE facts SET used = ? WHERE digest = ?", [(today, digest) for digest in have if have[digest] < today])
        self.progress.files = len(files)
        if not partly:
            return digests
        self.progress.missing = [path for path in todo if digests.get(path) not in have]
        return {path: digest for path, digest in digests.items() if digest in have}

    def _rank(self, path: str) -> tuple[bool, bool, int]:
        """What counts most is read first: whoever leaves early has it."""
        shared = len(self.progress.words & stems(path)) if self.progress.words else 0
        return not self.repository.allowed(path), is_foreign(path), -shared

    def _having(self, digests: dict[str, bytes]) -> dict[bytes, int]:
        """Those that have facts, with the day of their last use."""
        return self._lookup("SELECT digest, used FROM facts WHERE digest IN ({})", list(dict.fromkeys(digests.values())))

    def _evict(self, today: int) -> None:
        """Remove contents that were not used today, least recently used first, until four fifths of the limit are left."""
        ask = self._connection.execute
        pages, free, size = (ask(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size"))
        excess = (pages - free) * size - LIMIT_BYTES
        if excess <= 0:
            return
        excess += int(LIMIT_BYTES * (1 - _KEPT))
        gone = []
        for digest, length in ask("SELECT digest, length(facts) FROM facts WHERE used < ? ORDER BY used", (today,)).fetchall():
            if excess <= 0:
                break
            excess -= length
            gone.append((digest,))
        self._write("DELETE FROM facts WHERE digest = ?", gone)
        self._write("DELETE FROM seen WHERE digest NOT IN (SELECT digest FROM facts)", [()])
        ask("PRAGMA incremental_vacuum").fetchall()

    def _kept(self, query: str, keys: Sequence[Any]) -> dict[Any, Any]:
        """What can be read; nothing of a damaged file, which the next use replaces."""
        try:
            return self._lookup(query, keys)
        except _FAULTS as error:
            self._discarded(error)
            return {}

    def _discarded(self, error: Exception) -> bool:
        """Remove the SQLite file if the error says that it is damaged: not a lock, a full disk or a folder to be read only."""
        damaged = not isinstance(error, (sqlite3.OperationalError, OSError))
        if damaged and self._folder:
            with suppress(OSError):
                (self._folder / NAME).unlink()
        return damaged

    def _lookup(self, query: str, keys: Sequence[Any]) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for part in _parts(keys):
            found.update(self._connection.execute(query.format(",".join("?" * len(part))), part).fetchall())
        return found

    def _write(self, query: str, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            with self._connection:
                self._connection.executemany(query, rows)

    def _on_disk(self, path: str) -> tuple[str, float, int] | None:
        """What tells a changed file from an unchanged one, when it changed, and its size."""
        try:
            status = os.stat(f"{self._root}/{path}", follow_symlinks=False)
        except OSError:
            return None
        key = f"{status.st_dev}:{status.st_ino}:{status.st_size}:{status.st_mtime_ns}{kind_of(path)}"
        return key, status.st_mtime, status.st_size


def _parts(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (items[start : start + AT_ONCE] for start in range(0, len(items), AT_ONCE))
