"""How an index gets the facts of files that it lacks, and what those who wait for it are told."""

from __future__ import annotations

import hashlib
import math
import os
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from contextvars import Context
from itertools import islice
from pathlib import Path
from typing import Any

from fusesearch.core.errors import OutsideRootError, ToolError
from fusesearch.core.stopping import check
from fusesearch.localizers.ranker.facts import IDENTIFIER, words_of
from fusesearch.localizers.ranker.workers import Source, analysed
from fusesearch.search.git import tracked_files
from fusesearch.search.repository import Repository, clean_name

MAX_FILE_BYTES = 1_000_000
"""Larger files, mostly generated, count by their path alone."""

AT_ONCE = 500  # parameters of a query, rows of a transaction
WAIT_SECONDS = 30.0
_KEPT_SECONDS = 1.0  # what a process that is killed loses
_RACY_SECONDS = 2.0
_FOLDERS = 3
_NOTEBOOKS = 50
_TEXT_CHARS = 20_000


class Progress:
    """How far an index is, for one who waits at most ``patience`` seconds for it, and what an answer from it lacks.

    Files whose paths share words with ``text`` come first. ``told`` hears the files done so far and the number of those to do,
    which other threads find in ``done`` and ``total``. Of the ``files`` of an open index, ``missing`` are those that are not in
    it yet. ``no_history`` says why earlier commits do not count, empty if they do or if there are none. ``outside`` are files
    that the issue names and a sparse checkout leaves out, ``notebooks`` those that have a name of it: they are no code here.
    """

    def __init__(self, told: Callable[[int, int], None] | None = None, patience: float = math.inf, text: str = "") -> None:
        self.patience = patience
        self.words = stems(text[:_TEXT_CHARS])
        self.done = self.total = self.files = 0
        self.missing: list[str] = []
        self.no_history = ""
        self.outside: list[str] = []
        self.notebooks: list[str] = []
        self._told = told

    def __call__(self, done: int, total: int) -> None:
        """Take the news."""
        self.done, self.total = done, total
        if self._told:
            self._told(done, total)

    def fields(self) -> dict[str, Any]:
        """What an answer says of itself where something is amiss: ``no_history``, ``outside``, ``notebooks``, ``unindexed``."""
        missing = {"files": len(self.missing), "of": self.files, "folders": self._folders()}
        fields: dict[str, Any] = {"no_history": self.no_history, "outside": self.outside, "notebooks": self.notebooks}
        fields["unindexed"] = missing if self.missing else None
        return {name: value for name, value in fields.items() if value}

    def notes(self) -> list[str]:
        """The same as sentences."""
        notes = [f"History does not count: {self.no_history}."] if self.no_history else []
        if self.outside:
            folders = dict.fromkeys(os.path.dirname(path) for path in self.outside)
            how = f"`git sparse-checkout add {' '.join(folders)}`"
            notes.append(f"Outside of this sparse checkout: {', '.join(self.outside)} ({how} adds it).")
        if self.notebooks:
            notes.append(f"Notebooks are no code here, but a name of this text stands in {', '.join(self.notebooks)}.")
        if self.missing:
            said = (
                f"{len(self.missing):,} of {self.files:,} files are not yet indexed, most of them in {', '.join(self._folders())}"
            )
            notes.append(f"{said}. Indexing goes on: ask again for more.")
        return notes

    def _folders(self) -> list[str]:
        """The top folders (or files) with most of what is missing."""
        tops = Counter(top + slash for top, slash, _ in (path.partition("/") for path in self.missing))
        return [name for name, _ in tops.most_common(_FOLDERS)]


def outside_of_checkout(text: str, repository: Repository) -> list[str]:
    """A few files that a text names, and that git knows but a sparse checkout does not have."""
    if not os.path.lexists(repository.history[0] / "info" / "sparse-checkout"):
        return []
    names = (clean_name(name) for name in tracked_files(repository.root))
    return [path for path in names if path and path in text and not os.path.lexists(repository.root / path)][:_FOLDERS]


def notebooks_naming(text: str, repository: Repository) -> list[str]:
    """A few notebooks, among the first, that have a name of several words of a text."""
    names = [name.encode() for name in IDENTIFIER.findall(text[:_TEXT_CHARS]) if len(words_of(name)) > 1]
    paths = islice((path for path in repository.files() if path.endswith(".ipynb")), _NOTEBOOKS if names else 0)
    return [path for path in paths if (data := bytes_of(repository, path)) and any(name in data for name in names)][:_FOLDERS]


class Building:
    """Reads files and analyses the contents that are new: here, or in a thread of its own, which several callers can wait for.

    ``file`` is the index; ``files`` are paths with what the disk says of each (:meth:`Index._on_disk`).
    """

    def __init__(self, repository: Repository, file: Path, files: dict[str, tuple[str, float, int]], today: int) -> None:
        self.files, self.digests = files, dict[str, bytes]()
        self._repository, self._file, self._today = repository, file, today
        self._thread = threading.Thread(target=Context().run, args=(self._in_thread,), daemon=True, name="index")
        self._progress, self._stop = Progress(), threading.Event()
        self._error: Exception | None = None
        self._waiting, self._left, self._lock, self._began = 0, False, threading.Lock(), 0.0
        self._seen: list[tuple[str, bytes]] = []
        self._rows: list[tuple[bytes, int, bytes]] = []

    def run(self, progress: Progress) -> None:
        """Do it. What was done is kept, also if the caller leaves or presses Ctrl-C."""
        kept, total = time.monotonic(), len(self.files)
        progress(0, total)
        results = analysed(self._sources(), sum(size for _, _, size in self.files.values()))
        try:
            for done, (digest, facts) in enumerate(results, 1):
                if facts:
                    with self._lock:
                        self._rows.append((digest, self._today, facts))
                if len(self._rows) >= AT_ONCE or time.monotonic() > kept + _KEPT_SECONDS:
                    self._keep()
                    kept = time.monotonic()
                progress(done, total)
                if self._stop.is_set():
                    return
        finally:
            results.close()
            self._keep()

    def start(self) -> None:
        """Do it in a thread, which ends with the process."""
        self._began = time.monotonic()
        self._thread.start()

    @property
    def runs(self) -> bool:
        """Whether the thread does."""
        return self._thread.is_alive()

    def wait(self, progress: Progress) -> None:
        """Wait until the end, or the caller's patience after the start: who asks again has an answer at once.

        The thread goes on after that. It stops when the last caller leaves before, such as by cancelling a request.
        """
        self._waiting += 1
        try:
            while self.runs and time.monotonic() < self._began + progress.patience:
                check()
                progress(self._progress.done, self._progress.total)
                self._thread.join(0.2)
            self._left = True
            self._keep()
        finally:
            self._waiting -= 1
            if not self._left and not self._waiting:
                self._stop.set()
        if self._error:
            raise self._error

    def _in_thread(self) -> None:
        try:
            self.run(self._progress)
        except Exception as error:
            self._error = error

    def _keep(self) -> None:
        with self._lock:
            rows, seen = self._rows, self._seen
            self._rows, self._seen = [], []
        with closing(sqlite3.connect(self._file, timeout=WAIT_SECONDS)) as connection, connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", rows)
            connection.executemany("INSERT OR REPLACE INTO seen VALUES (?, ?)", seen)

    def _sources(self) -> Iterator[Source]:
        """All files that can be read, without the contents of those whose facts are known or asked for."""
        asked: set[bytes] = set()
        connection = sqlite3.connect(self._file, timeout=WAIT_SECONDS, check_same_thread=False)  # one thread at a time asks
        with closing(connection):
            for path, (key, changed, _) in self.files.items():
                if (data := bytes_of(self._repository, path)) is None:
                    continue
                digest = self.digests[path] = digest_of(path, data)
                if changed < time.time() - _RACY_SECONDS:  # else it may change again within the grain of the clock
                    with self._lock:
                        self._seen.append((key, digest))
                known = digest in asked or connection.execute("SELECT 1 FROM facts WHERE digest = ?", (digest,)).fetchone()
                asked.add(digest)
                yield digest, path, None if known else data


def bytes_of(repository: Repository, path: str) -> bytes | None:
    """The content of a file; None if it is too large or cannot be read."""
    try:
        data = repository.read_listed(path, MAX_FILE_BYTES + 1)
    except (ToolError, OutsideRootError):
        return None
    return data if len(data) <= MAX_FILE_BYTES else None


def digest_of(path: str, data: bytes) -> bytes:
    """What facts are kept under: the same for each copy of a content, on any branch and in any work tree."""
    return hashlib.blake2b(data, digest_size=16, person=kind_of(path)[:16].encode("utf-8")[:16]).digest()


def stems(text: str) -> set[str]:
    """The stems of the words of a text or a path."""
    return {word for name in IDENTIFIER.findall(text) for word in words_of(name)}


def kind_of(path: str) -> str:
    """The suffix, which says how a content is read."""
    return os.path.splitext(path)[1].lower()
