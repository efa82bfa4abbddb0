"""Graphs of snapshots: made once, off the event loop, shared by all episodes on a snapshot, their facts kept on disk.

What is kept on disk is what parsing gave (:class:`FileFacts`), as compressed JSON under a digest of the contents of all
Python files: another commit, another version of this code or of Python is another name, and what does not read back as
written is made anew. The graph is linked from it in a fraction of the time.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import os
import sys
import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, ref

from tasks.core.errors import RepositoryError
from tasks.core.layout import GRAPHS
from tasks.core.storage import replacing
from tasks.localizers.graph.code_graph import CodeGraph
from tasks.localizers.graph.facts import CLASS, FUNCTION, Definition, FileFacts, Import, facts_of
from tasks.localizers.graph.linking import link
from tasks.search.repository import Repository

VERSION = 1
MAX_FILES = 50_000
MAX_CACHE_BYTES = 1 << 30
MAX_JSON_BYTES = 1 << 29
MAX_NODES = 200_000
"""Files of a snapshot that are read; bytes of all kept facts and of one, unpacked; nodes of all graphs kept in memory."""


async def graph_of(repository: Repository, cache: Path = GRAPHS) -> CodeGraph:
    """The graph of a snapshot. Raises :class:`RepositoryError` when it cannot be read."""
    return await asyncio.wrap_future(_GRAPHS.get(repository, cache))


def build_graph(repository: Repository) -> CodeGraph:
    """The graph, made from the files and kept nowhere."""
    return link(facts_of(path, source) for path, source in _sources(repository))


def cached_graph(repository: Repository, cache: Path) -> CodeGraph:
    """The graph, its facts from ``cache`` if they are there, else put there if that can be written."""
    sources = list(_sources(repository))
    path = cache / f"{_digest(sources)}.json.gz"
    facts = read_facts(path)
    if facts is None:
        facts = [facts_of(*source) for source in sources]
        _keep(path, facts)
    return link(facts)


def read_facts(path: Path) -> list[FileFacts] | None:
    """Facts from a file, which counts as used; ``None`` where there are none or they are not as they were written."""
    try:
        data = _unpacked(path)
        os.utime(path)
        return [_facts(row) for row in json.loads(data)]
    except (OSError, EOFError, zlib.error, ValueError, TypeError, KeyError, RecursionError):
        return None


def write_facts(path: Path, facts: Iterable[FileFacts]) -> None:
    """Facts into a file, atomically."""
    rows = [[item.path, item.lines, [_row(found) for found in item.definitions], item.imports] for item in facts]
    with replacing(path) as temporary, gzip.open(temporary, "wb", compresslevel=3) as handle:
        handle.write(json.dumps(rows, separators=(",", ":")).encode("ascii"))


def _sources(repository: Repository) -> Iterator[tuple[str, str]]:
    paths = [path for path in repository.files() if path.endswith(".py") and "::" not in path]
    for path in paths[:MAX_FILES]:
        with suppress(RepositoryError):  # a file that cannot be read is no part of the graph
            yield path, repository.read_text(path)


def _digest(sources: Iterable[tuple[str, str]]) -> str:
    digest = hashlib.sha256(f"{VERSION} {sys.version_info[:2]}".encode())
    for path, source in sources:
        for part in (path, source):
            data = part.encode("utf-8", "replace")
            digest.update(f"{len(data)}:".encode() + data)
    return digest.hexdigest()


def _keep(path: Path, facts: list[FileFacts]) -> None:
    with suppress(OSError):
        write_facts(path, facts)
        _evict(path.parent)


def _evict(cache: Path) -> None:
    """Remove what was used longest ago, down to :data:`MAX_CACHE_BYTES`."""
    kept = sorted(((item.stat().st_mtime, item.stat().st_size, item) for item in cache.glob("*.json.gz")), reverse=True)
    total = 0
    for _, size, item in kept:
        total += size
        if total > MAX_CACHE_BYTES:
            item.unlink(missing_ok=True)


def _unpacked(path: Path) -> bytes:
    with gzip.open(path, "rb") as handle:
        data = handle.read(MAX_JSON_BYTES + 1)
    if len(data) > MAX_JSON_BYTES:
        raise ValueError("too long")
    return data


def _row(found: Definition) -> list[Any]:
    return [found.kind, found.name, found.start, found.header, found.end, found.calls, found.bases, found.imports]


def _facts(row: Any) -> FileFacts:
    path, lines, definitions, imports = row
    return FileFacts(_text(path), int(lines), tuple(map(_definition, definitions)), tuple(map(_import, imports)))


def _definition(row: Any) -> Definition:
    kind, name, start, header, end, calls, bases, imports = row
    if kind not in (CLASS, FUNCTION):
        raise ValueError(f"{kind} is no kind of definition")
    used = [tuple(map(_text, part)) for part in (calls, bases)]
    return Definition(kind, _text(name), int(start), int(header), int(end), used[0], used[1], tuple(map(_import, imports)))


def _import(row: Any) -> Import:
    return Import(*map(_text, row))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not text")
    return value


class _Shared:
    """Graphs of the snapshots in use, each made by one thread however many ask; the least recently asked for go first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._futures: WeakKeyDictionary[Repository, Future[CodeGraph]] = WeakKeyDictionary()
        self._sizes: OrderedDict[ref[Repository], int] = OrderedDict()

    def get(self, repository: Repository, cache: Path) -> Future[CodeGraph]:
        with self._lock:
            future = self._futures.get(repository)
            if future is None:
                future = self._futures[repository] = Future()
                future.set_running_or_notify_cancel()  # so that one who waits cannot cancel it for all
                _pool(os.getpid()).submit(self._make, repository, cache, future)
            elif ref(repository) in self._sizes:
                self._sizes.move_to_end(ref(repository))
            return future

    def _make(self, repository: Repository, cache: Path, future: Future[CodeGraph]) -> None:
        try:
            graph = cached_graph(repository, cache)
        except BaseException as error:
            with self._lock:
                self._futures.pop(repository, None)
            future.set_exception(error)
        else:
            self._remember(repository, len(graph))
            future.set_result(graph)

    def _remember(self, repository: Repository, size: int) -> None:
        with self._lock:
            self._sizes = OrderedDict((key, nodes) for key, nodes in self._sizes.items() if key() is not None)
            self._sizes[ref(repository)] = size
            while sum(self._sizes.values()) > MAX_NODES and len(self._sizes) > 1:
                oldest = self._sizes.popitem(last=False)[0]()
                if oldest is not None:
                    self._futures.pop(oldest, None)


@lru_cache(maxsize=1)
def _pool(process: int) -> ThreadPoolExecutor:
    """Threads that make graphs: few, because parsing holds the interpreter. One pool per process, as none survives a fork."""
    return ThreadPoolExecutor(max_workers=2, thread_name_prefix="graph")


_GRAPHS = _Shared()
