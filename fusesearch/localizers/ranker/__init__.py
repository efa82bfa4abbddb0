"""``ranker``: what a snapshot's words, names and history share with an issue, ranked by trees. No model, no search."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from fusesearch.core.caches import Caches
from fusesearch.localizers.ranker.answer import Fields, Ranking, rank
from fusesearch.localizers.ranker.building import Progress, notebooks_naming, outside_of_checkout
from fusesearch.localizers.ranker.facts import same_letters
from fusesearch.localizers.ranker.features import candidates_of
from fusesearch.localizers.ranker.index import Index
from fusesearch.localizers.ranker.places import FEW_FILES, fields_for_people, says_little
from fusesearch.localizers.ranker.search import is_search, search_in
from fusesearch.localizers.ranker.trees import WEIGHTS, Models, read_models
from fusesearch.search.repository import Repository


@lru_cache(maxsize=1)
def models() -> Models:
    """The models of files and functions: those in the model file ``FUSESEARCH_RANKER``, or those of the package."""
    return read_models(Path(os.environ.get("FUSESEARCH_RANKER") or WEIGHTS))


def ranking_of(
    issue: str, repository: Repository, folder: Path | None = None, on_progress: Progress | None = None, least: int = 0
) -> Ranking:
    """All candidates for an issue, ranked. ``folder`` is where the index lies, by default in the user's caches.

    Raises :class:`ArtifactError` if the models are damaged or made for other features.
    """
    models()  # raises before an index is made
    with Index(repository, folder or Caches().index, on_progress) as index:
        return ranking_in(issue, index, least)


def ranking_in(issue: str, index: Index, least: int = 0) -> Ranking:
    """As :func:`ranking_of`, of an open index; without what an answer may not name."""
    file, function = models()
    found, allowed = rank(candidates_of(issue, index), file, function, least), index.repository.allowed
    files, functions = ([one for one in part if allowed(one.candidate.path)] for part in (found.files, found.functions))
    lines = lru_cache(maxsize=16)(lambda path: index.source(path).split("\n"))
    return replace(found, files=files, functions=functions, lines=lines)


def answer_of(
    text: str, repository: Repository, folder: Path | None = None, on_progress: Progress | None = None, top: int | None = None
) -> Fields:
    """As :func:`answer_in`, of an index that is opened as :func:`ranking_of` does: the fields alone."""
    models()
    with Index(repository, folder or Caches().index, on_progress) as index:
        return answer_in(text, index, top)[1]


def answer_in(text: str, index: Index, top: int | None = None) -> tuple[Ranking, Fields]:
    """The ranking and the answer: of an issue, or of a search where the text is none or says too little to be one."""
    text = same_letters(text)
    index.progress.outside = outside_of_checkout(text, index.repository)
    ranking = ranking_in(text, index, FEW_FILES)
    if is_search(text) or says_little(ranking, text):
        index.progress.notebooks = notebooks_naming(text, index.repository)
        return ranking, search_in(text, index, ranking, top)
    return ranking, fields_for_people(ranking, text, top)
