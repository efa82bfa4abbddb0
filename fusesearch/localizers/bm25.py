"""``bm25``: ranks files and functions of a snapshot by the words they share with the issue (bm25s), without a model."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fusesearch.code.functions import spans_of
from fusesearch.code.kinds import is_code
from fusesearch.code.per_snapshot import PerSnapshot
from fusesearch.core.schema import Answer, Instance
from fusesearch.localizers.direct import MAX_FILE_BYTES, DirectLocalizer, as_answer, readable_source
from fusesearch.localizers.lexical.stopwords import SHORT_WORDS, STOPWORDS
from fusesearch.localizers.order import FILES, FUNCTIONS
from fusesearch.search.repository import Repository

MAX_WORD_CHARS = 80
MAX_BYTES = 400 * 2**20
"""Nothing after this much text is indexed."""

TITLE = 2
"""Extra weight of a word in the issue's first line."""
FUNCTION_SHARE = 0.5
"""Share of its best function's score that a file gets."""

IDENTIFIER = re.compile(r"[^\W\d]\w*")
_PART = re.compile(r"[^\W\d_]+|\d+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def words_of(text: str) -> Iterator[str]:
    """Words in text order: each identifier in lower case, followed by its parts if it has several.

    ``HttpResponse_base`` gives ``httpresponse_base``, ``http``, ``response``, ``base``. A bare number gives no word.
    """
    for identifier in IDENTIFIER.findall(text):
        yield from split(identifier)


def query_of(issue: str) -> list[str]:
    """The words of an issue that help to find code, each repeated by its weight.

    A word that occurs n times weighs 1 + log2(n), rounded down, plus ``TITLE`` if it is in the first line.
    """
    title = Counter(dict.fromkeys(_content_words(issue.strip().partition("\n")[0]), TITLE))
    return [word for word, times in Counter(_content_words(issue)).items() for _ in range(times.bit_length() + title[word])]


def _content_words(text: str) -> Iterator[str]:
    return (word for word in words_of(text) if len(word) > 1 and word not in STOPWORDS and word not in SHORT_WORDS)


@lru_cache(maxsize=200_000)
def split(identifier: str) -> tuple[str, ...]:
    """An identifier in lower case and its parts: at underscores, inner capitals and digits."""
    identifier = identifier[:MAX_WORD_CHARS]
    parts = [part.lower() for piece in _PART.findall(identifier) for part in _HUMP.split(piece)]
    whole = identifier.lower().strip("_") or identifier.lower()
    return (whole,) if len(parts) < 2 else (whole, *parts)


class Index:
    """Code files, tests excluded, and their functions."""

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
        """The best files for an issue and the best functions in those files, both in rank order.

        A file scores for its own words and, by ``FUNCTION_SHARE``, for its best function. Ties are in path order. Files and
        functions that share no word with the issue are left out.
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
        """Approximate size in memory."""
        arrays = [array for found in (self._by_file, self._by_function) if found for array in found.scores.values()]
        return sum(getattr(array, "nbytes", 0) for array in arrays) + 120 * (len(self._numbers) + len(self.functions))

    def _ids(self, text: str) -> list[int]:
        """Ids of the words of ``text``, in no particular order."""
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
    """Path and text of each code file, in path order, up to the limits."""
    remaining = MAX_BYTES
    for path in filter(is_code, repository.files()):
        source = readable_source(repository, path, min(remaining, MAX_FILE_BYTES))
        if source is not None:
            remaining -= len(source)
            yield path, source


def _bm25(documents: list[list[int]], numbers: dict[str, int]) -> Any:
    """The score of every word in every document (Lucene's BM25, k1 1.5, b 0.75); None without documents."""
    if not documents or not numbers:
        return None
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)  # it sets DEBUG itself, and has a line for every index
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


INDEXES = PerSnapshot(Index, lambda index: index.bytes)
"""Of the snapshots in use, for all that search by these words."""


class Bm25Localizer(DirectLocalizer):
    """The ``files`` best files, and the ``functions`` best functions in them."""

    name = "bm25"
    files = FILES
    functions = FUNCTIONS

    def find(self, instance: Instance, repository: Repository, seed: int | None) -> Answer:
        """The best files and functions."""
        return as_answer(*INDEXES.get(repository).best(instance.problem_statement, self.files, self.functions))
