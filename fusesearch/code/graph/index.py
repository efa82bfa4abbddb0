"""Finds nodes of the graph by name, and by words with BM25 (bm25s) over their ids and their own code.

As in LocAgent, nodes of tests are not found.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from fusesearch.code.graph.code_graph import CLASS, FILE, FUNCTION, CodeGraph, last_name, path_of
from fusesearch.code.graph.listing import lines_of
from fusesearch.code.kinds import is_test
from fusesearch.search.repository import Repository

MAX_DOCUMENT_CHARS = 20_000
_WORD = re.compile(r"[A-Za-z_]\w*|\d+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


class EntityIndex:
    """Names and words of one graph. BM25's indexes are built on first use. Thread-safe."""

    def __init__(self, graph: CodeGraph) -> None:
        self.graph = graph
        self._nodes = [node for node in graph.nodes(FILE, CLASS, FUNCTION) if not is_test(path_of(node))]
        self._names = _by_name(self._nodes, str)
        self._lower_names = _by_name(self._nodes, str.lower)
        self._ids = _Words()
        self._code = _Words()

    def named(self, name: str) -> list[str]:
        """Nodes with this last name or file name (with or without ``.py``); case is ignored only if nothing matches exactly."""
        return list(self._names.get(name) or self._lower_names.get(name.lower()) or [])

    def with_words_in_id(self, query: str, most: int) -> list[str]:
        """The nodes whose ids fit best."""
        return [self._nodes[index] for index in self._ids.best(query, most, lambda: (list(_words(node)) for node in self._nodes))]

    def with_words_in_code(self, query: str, most: int, repository: Repository) -> list[str]:
        """The nodes whose own code, without that of their members, fits best."""
        return [self._nodes[index] for index in self._code.best(query, most, lambda: self._documents(repository))]

    def _documents(self, repository: Repository) -> Iterator[list[str]]:
        """Words of each node's own code, in the order of the nodes, which keep files together."""
        path, source = "", [""]
        for node in self._nodes:
            if node.partition("::")[0] != path:
                path = node.partition("::")[0]
                source = lines_of(repository, path)
            yield list(_words("\n".join(self._own(node, source))[:MAX_DOCUMENT_CHARS]))

    def _own(self, node: str, source: list[str]) -> Iterator[str]:
        start, end = self.graph.lines(node)
        for member in sorted(self.graph.members(node), key=self.graph.lines):
            first, last = self.graph.lines(member)
            yield from source[start - 1 : first - 1]
            start = max(start, last + 1)
        yield from source[start - 1 : end]


class _Words:
    """BM25 over documents, which are lists of words and are requested only once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._index: Any = None

    def best(self, query: str, most: int, documents: Callable[[], Iterable[list[str]]]) -> list[int]:
        """Numbers of the documents that fit best and share a word with the query."""
        with self._lock:
            if self._index is None:
                self._index = _bm25(list(documents())) or False
            index = self._index
        words = [word for word in dict.fromkeys(_words(query)) if index and word in index.vocab_dict]
        if not words:
            return []
        scores = index.get_scores(words)
        ranked = sorted(scores.nonzero()[0].tolist(), key=lambda number: (-scores[number], number))
        return ranked[:most]


def _bm25(documents: list[list[str]]) -> Any:
    import bm25s

    if not any(documents):
        return None
    index = bm25s.BM25()
    index.index(documents, show_progress=False)
    return index


def _by_name(nodes: Iterable[str], form: Callable[[str], str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for node in nodes:
        file = node.rpartition("/")[2]
        for name in {last_name(node)} if "::" in node else {file, file.removesuffix(".py")}:
            found.setdefault(form(name), []).append(node)
    return found


def _words(text: str) -> Iterator[str]:
    """Identifiers in lower case, each followed by its parts if it has several."""
    for match in _WORD.finditer(text):
        yield from _parts(match[0])


@lru_cache(maxsize=100_000)
def _parts(word: str) -> tuple[str, ...]:
    parts = [part.lower() for part in _PART.findall(word[:100])]
    return (word.lower(), *parts) if len(parts) > 1 else (word.lower(),)
