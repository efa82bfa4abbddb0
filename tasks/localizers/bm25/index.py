"""BM25 over the files and the functions of one snapshot (bm25s), built once and asked by many episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.code.kinds import is_code
from tasks.code.remembered import spans_of
from tasks.localizers.bm25.words import IDENTIFIER, query_of, split
from tasks.localizers.direct import readable_source
from tasks.search.repository import Repository

MAX_FILE_BYTES = 1_000_000
MAX_BYTES = 400 * 2**20
"""Larger files, and what comes after so much text, are not indexed."""

FUNCTION_SHARE = 0.5


class Index:
    """Files of code without tests, and the functions in them."""

    def __init__(self, repository: Repository) -> None:
        self.files: list[str] = []
        self.functions: list[str] = []
        self._owners: list[int] = []
        self._numbers: dict[str, int] = {}
        self._known: dict[str, tuple[int, ...]] = {}
        by_file: list[list[int]] = []
        by_function: list[list[int]] = []
        for path, source in _sources(repository):
            name = self._ids(path)
            inside, rest = [], source.split("\n")
            for span in spans_of(source, path):
                body = self._ids("\n".join(rest[span.start - 1 : span.end]))
                rest[span.start - 1 : span.end] = [""] * (span.end - span.start + 1)
                self.functions.append(f"{path}::{span.name}")
                self._owners.append(len(self.files))
                inside += body
                by_function.append(name + self._ids(span.name) + body)
            self.files.append(path)
            by_file.append(name + inside + self._ids("\n".join(rest)))
        del self._known
        self._by_file, self._by_function = _bm25(by_file, self._numbers), _bm25(by_function, self._numbers)

    def best(self, issue: str, files: int, functions: int) -> tuple[list[str], list[str]]:
        """The best files for an issue, and the best functions among those in them, both in rank order.

        A file scores for itself and, by ``FUNCTION_SHARE``, for its best function. Equal scores stand in the order of the
        paths. What shares no word with the issue is not named.
        """
        query = [self._numbers[word] for word in query_of(issue) if word in self._numbers]
        by_function = _scores(self._by_function, query, len(self.functions))
        inside = np.zeros(len(self.files), dtype=np.float32)
        np.maximum.at(inside, np.array(self._owners, dtype=np.intp), by_function)
        by_file = _scores(self._by_file, query, len(self.files)) + FUNCTION_SHARE * inside
        chosen = _top(by_file, range(len(self.files)), files)
        kept = set(chosen)
        among = [index for index, owner in enumerate(self._owners) if owner in kept]
        named = dict.fromkeys(self.functions[index] for index in _top(by_function, among, len(among)))
        return [self.files[index] for index in chosen], list(named)[:functions]

    @property
    def bytes(self) -> int:
        """Memory it takes, roughly."""
        arrays = [array for found in (self._by_file, self._by_function) if found for array in found.scores.values()]
        return sum(getattr(array, "nbytes", 0) for array in arrays) + 120 * (len(self._numbers) + len(self.functions))

    def _ids(self, text: str) -> list[int]:
        """Numbers of the words of ``text``, in no order."""
        known = self._known
        ids: list[int] = []
        for identifier, times in Counter(IDENTIFIER.findall(text)).items():
            found = known.get(identifier)
            if found is None:
                numbers = self._numbers
                found = known[identifier] = tuple(numbers.setdefault(word, len(numbers)) for word in split(identifier))
            ids += found * times
        return ids


def _sources(repository: Repository) -> Iterator[tuple[str, str]]:
    """Path and text of each file of code, in path order, up to the limits."""
    left = MAX_BYTES
    for path in filter(is_code, repository.files()):
        source = readable_source(repository, path, min(left, MAX_FILE_BYTES))
        if source is not None:
            left -= len(source)
            yield path, source


def _bm25(documents: list[list[int]], numbers: dict[str, int]) -> Any:
    """The scores of every word in every document (Lucene's BM25, k1 1.5, b 0.75); None without documents."""
    if not documents or not numbers:
        return None
    import bm25s

    model = bm25s.BM25()
    model.index((documents, numbers), create_empty_token=False, show_progress=False)
    return model


def _scores(model: Any, query: list[int], documents: int) -> NDArray[np.float32]:
    if model is None or not query:
        return np.zeros(documents, dtype=np.float32)
    return model.get_scores_from_ids(query)


def _top(scores: NDArray[np.float32], among: Iterable[int], count: int) -> Sequence[int]:
    """Indices of the best scores above 0, best first."""
    return sorted((index for index in among if scores[index] > 0), key=lambda index: (-scores[index], index))[:count]
