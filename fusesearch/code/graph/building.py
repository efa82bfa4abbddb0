"""Graphs of snapshots, built once, off the event loop, and shared by all episodes on a snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from fusesearch.code.graph.code_graph import CodeGraph
from fusesearch.code.graph.facts import facts_of
from fusesearch.code.graph.index import EntityIndex
from fusesearch.code.graph.linking import link
from fusesearch.code.per_snapshot import PerSnapshot
from fusesearch.core.errors import RepositoryError
from fusesearch.search.repository import Repository

MAX_FILES = 50_000  # of a snapshot
MAX_CHARS = 400_000_000  # of a snapshot
MEMORY_BYTES = 1 << 30  # of graphs in memory


async def index_of(repository: Repository) -> EntityIndex:
    """The graph of a snapshot with an index of its nodes. Raises :class:`RepositoryError`."""
    return await _INDEXES.of(repository)


def graph_of(repository: Repository) -> CodeGraph:
    """The graph of the Python files of a repository."""
    return link(facts_of(*source) for source in _sources(repository))


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


def _bytes(index: EntityIndex) -> int:
    """Approximate memory of a graph and its index, measured on django."""
    return 1_000 * len(index.graph) + 500 * index.graph.graph.number_of_edges()


_INDEXES = PerSnapshot(lambda repository: EntityIndex(graph_of(repository)), _bytes, MEMORY_BYTES)
