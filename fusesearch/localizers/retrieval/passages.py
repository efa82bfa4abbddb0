"""Passages of a snapshot by BM25: the best functions, and the lines outside functions of the best files.

The index is the one behind the localizer ``bm25``. It needs the extra ``models``, as the client of endpoints does, so it is there
wherever a model can be asked. The ranker's index needs no extra, but ranks whole files, by the evidence of an issue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import chain, zip_longest
from typing import Any, NamedTuple

from fusesearch.code.functions import spans_of
from fusesearch.code.per_snapshot import PerSnapshot
from fusesearch.core.text import printable
from fusesearch.localizers.bm25 import MAX_FILE_BYTES, Index, query_of, words_of
from fusesearch.localizers.direct import readable_source
from fusesearch.search.repository import Repository
from fusesearch.search.results import Outcome

MOST = 15
"""Passages that a model sees at most (IRCoT, section 4)."""

LINES = 60
LINE_CHARS = 200
"""A passage of more lines shows those that share a word with the query first; longer lines are cut."""

_FILES, _FUNCTIONS = 10, 20
_INDEXES = PerSnapshot(Index, lambda index: index.bytes)


class Passage(NamedTuple):
    """A function, or a file without its functions: its heading and numbered lines, and each line as ``path:line``."""

    text: str
    lines: list[str]


class Retriever:
    """Runs the call ``retrieve(query)``: the ``most`` best passages that it has not returned before, ``MOST`` in all."""

    def __init__(self, repository: Repository, most: int) -> None:
        self.found: dict[str, Passage] = {}
        self._repository, self._most = repository, most

    async def call(self, name: str, arguments: dict[str, Any]) -> Outcome:
        """Add to ``found``, by entity, and return what is new."""
        fresh = await asyncio.to_thread(self._find, arguments["query"])
        self.found |= fresh
        lines = [line for passage in fresh.values() for line in passage.lines]
        output = "\n\n".join(passage.text for passage in fresh.values()) or "nothing new"
        return Outcome(output, lines)

    def _find(self, query: str) -> dict[str, Passage]:
        files, functions = _INDEXES.get(self._repository).best(query, _FILES, _FUNCTIONS)
        fresh: dict[str, Passage] = {}
        for entity in filter(None, chain.from_iterable(zip_longest(functions, files))):
            if len(fresh) >= min(self._most, MOST - len(self.found)):
                break
            if entity not in self.found and (passage := _passage(self._repository, entity, frozenset(query_of(query)))).lines:
                fresh[entity] = passage
        return fresh


def _passage(repository: Repository, entity: str, words: frozenset[str]) -> Passage:
    path, _, function = entity.partition("::")
    source = readable_source(repository, path, MAX_FILE_BYTES) or ""
    text = source.split("\n")
    spans = spans_of(source, path)
    if function:
        numbers = [number for span in spans if span.name == function for number in range(span.start, span.end + 1)]
    else:
        inside = {number for span in spans for number in range(span.start, span.end + 1)}
        numbers = [number for number in range(1, len(text) + 1) if number not in inside]
    filled = [number for number in numbers if text[number - 1].strip()]
    kept = sorted(sorted(filled, key=lambda number: words.isdisjoint(words_of(text[number - 1])))[:LINES])
    return Passage("\n".join(_shown(entity, text, kept)), [f"{path}:{number}" for number in kept])


def _shown(entity: str, text: list[str], numbers: list[int]) -> Iterator[str]:
    yield f"/repo/{printable(entity)}"
    for number in numbers:
        yield f"{number}\t{text[number - 1][:LINE_CHARS]}"
