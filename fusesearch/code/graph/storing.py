"""Graphs of snapshots, built once, off the event loop, and shared by all episodes on a snapshot. Their facts are cached on disk.

The cache has the facts of all files (:class:`FileFacts`) as compressed JSON, named by a digest of the contents of all Python
files, :data:`VERSION` and the version of Python. An unreadable entry is replaced. Linking cached facts takes a fraction of the
time of parsing.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path

from pydantic import TypeAdapter

from fusesearch.code.graph.code_graph import CodeGraph
from fusesearch.code.graph.facts import FileFacts, facts_of
from fusesearch.code.graph.index import EntityIndex
from fusesearch.code.graph.linking import link
from fusesearch.code.per_snapshot import PerSnapshot
from fusesearch.core.errors import RepositoryError
from fusesearch.core.storage import replacing
from fusesearch.search.repository import Repository

VERSION = 2
MAX_FILES = 50_000  # of a snapshot
MAX_CHARS = 400_000_000  # of a snapshot
MAX_CACHE_BYTES = 1 << 30  # of all facts on disk
MAX_JSON_BYTES = 1 << 29  # of the facts of one snapshot
MEMORY_BYTES = 1 << 30  # of graphs in memory


async def index_of(repository: Repository, cache: Path) -> EntityIndex:
    """The graph of a snapshot with an index of its nodes; ``cache`` is a folder for facts. Raises :class:`RepositoryError`."""
    return await _shared(cache).of(repository)


def cached_graph(repository: Repository, cache: Path) -> CodeGraph:
    """The graph, with facts from the folder ``cache``, which gets them if it lacks them and is writable."""
    sources = list(_sources(repository))
    path = cache / f"{_digest(sources)}.json.gz"
    facts = read_facts(path)
    if facts is None:
        facts = [facts_of(*source) for source in sources]
        with suppress(OSError):  # the folder may be read-only
            write_facts(path, facts)
            _evict(cache)
    return link(facts)


def read_facts(path: Path) -> list[FileFacts] | None:
    """Facts from a file, whose time of use is updated; ``None`` if it does not exist or is damaged."""
    try:
        with gzip.open(path, "rb") as handle:
            data = handle.read(MAX_JSON_BYTES + 1)
        if len(data) > MAX_JSON_BYTES:
            return None
        os.utime(path)
        return _stored().validate_json(data)
    except (OSError, EOFError, zlib.error, ValueError):  # pydantic's faults are ValueErrors
        return None


def write_facts(path: Path, facts: Iterable[FileFacts]) -> None:
    """Write facts to a file, atomically."""
    with replacing(path) as temporary, gzip.open(temporary, "wb", compresslevel=3) as handle:
        handle.write(_stored().dump_json(list(facts)))


@cache
def _stored() -> TypeAdapter[list[FileFacts]]:
    return TypeAdapter(list[FileFacts])


def _sources(repository: Repository) -> Iterator[tuple[str, str]]:
    paths = [path for path in repository.files() if path.endswith(".py") and "::" not in path]
    remaining = MAX_CHARS
    for path in paths[:MAX_FILES]:
        with suppress(RepositoryError):  # an unreadable file is not part of the graph
            source = repository.read_text(path)
            remaining -= len(source)
            if remaining < 0:
                return
            yield path, source


def _digest(sources: Iterable[tuple[str, str]]) -> str:
    digest = hashlib.sha256(f"{VERSION} {sys.version_info[:2]}".encode())
    for path, source in sources:
        for part in (path, source):
            data = part.encode("utf-8", "replace")
            digest.update(f"{len(data)}:".encode() + data)
    return digest.hexdigest()


def _evict(cache: Path) -> None:
    """Remove the least recently used files above :data:`MAX_CACHE_BYTES`."""
    kept = sorted(((item.stat().st_mtime, item.stat().st_size, item) for item in cache.glob("*.json.gz")), reverse=True)
    total = 0
    for _, size, item in kept:
        total += size
        if total > MAX_CACHE_BYTES:
            item.unlink(missing_ok=True)


def _bytes(index: EntityIndex) -> int:
    """Approximate memory of a graph and its index, measured on django."""
    return 1_000 * len(index.graph) + 500 * index.graph.graph.number_of_edges()


@lru_cache(maxsize=8)
def _shared(cache: Path) -> PerSnapshot[EntityIndex]:
    return PerSnapshot(lambda repository: EntityIndex(cached_graph(repository, cache)), _bytes, MEMORY_BYTES)
