"""Graphs of snapshots: made once, off the event loop, shared by all episodes on a snapshot, their facts kept on disk.

What is kept on disk is what parsing gave (:class:`FileFacts`), as compressed JSON under a digest of the contents of all
Python files: another commit, another version of this code or of Python is another name, and what does not read back as
written is made anew. The graph is linked from it in a fraction of the time.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from tasks.code.graph.code_graph import CodeGraph
from tasks.code.graph.facts import CLASS, FUNCTION, Definition, FileFacts, Import, facts_of
from tasks.code.graph.index import EntityIndex
from tasks.code.graph.linking import link
from tasks.code.per_snapshot import PerSnapshot
from tasks.core.errors import RepositoryError
from tasks.core.storage import replacing
from tasks.search.repository import Repository

VERSION = 1
MAX_FILES = 50_000
MAX_CHARS = 400_000_000
MAX_CACHE_BYTES = 1 << 30
MAX_JSON_BYTES = 1 << 29
MEMORY_BYTES = 1 << 30
"""Files and characters of a snapshot that are read; bytes of all facts on disk, of one unpacked, and of graphs in memory."""


async def graph_of(repository: Repository, cache: Path | None = None) -> CodeGraph:
    """The graph of a snapshot; ``cache`` is a folder that keeps what it is made of. Raises :class:`RepositoryError`."""
    return (await index_of(repository, cache)).graph


async def index_of(repository: Repository, cache: Path | None = None) -> EntityIndex:
    """The graph of a snapshot with what finds its nodes; as :func:`graph_of`."""
    return await _shared(cache).of(repository)


def build_graph(repository: Repository) -> CodeGraph:
    """The graph, made from the files and kept nowhere."""
    return link(facts_of(path, source) for path, source in _sources(repository))


def cached_graph(repository: Repository, cache: Path | None) -> CodeGraph:
    """The graph, its facts from the folder ``cache`` if it has them, else put there if that can be written."""
    if cache is None:
        return build_graph(repository)
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
    left = MAX_CHARS
    for path in paths[:MAX_FILES]:
        with suppress(RepositoryError):  # a file that cannot be read is no part of the graph
            source = repository.read_text(path)
            left -= len(source)
            if left < 0:
                return
            yield path, source


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


def _bytes(index: EntityIndex) -> int:
    """Memory a graph and its index take, roughly: measured on django."""
    return 1_000 * len(index.graph) + 500 * index.graph.graph.number_of_edges()


@lru_cache(maxsize=8)
def _shared(cache: Path | None) -> PerSnapshot[EntityIndex]:
    return PerSnapshot(lambda repository: EntityIndex(cached_graph(repository, cache)), _bytes, MEMORY_BYTES)
