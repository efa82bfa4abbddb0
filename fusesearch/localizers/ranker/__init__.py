"""``ranker``: what a snapshot's words, names and history share with an issue, ranked by trees. No model, no search."""

from __future__ import annotations

import logging
import os
from functools import lru_cache
from pathlib import Path

from fusesearch.core.caches import Caches
from fusesearch.core.errors import ArtifactError
from fusesearch.core.schema import Answer, Instance, Trajectory
from fusesearch.localizers.base import BaseLocalizer
from fusesearch.localizers.direct import answered
from fusesearch.localizers.ranker.answer import Ranking, rank
from fusesearch.localizers.ranker.encoder import Encoder, encoder
from fusesearch.localizers.ranker.features import candidates_of
from fusesearch.localizers.ranker.index import Index, Progress
from fusesearch.localizers.ranker.meaning import add_meaning
from fusesearch.localizers.ranker.places import FEW_FILES, for_people
from fusesearch.localizers.ranker.trees import MEANING_WEIGHTS, WEIGHTS, Models, read_models
from fusesearch.search.repository import Repository

logger = logging.getLogger(__name__)


@lru_cache(maxsize=4)
def _read(path: Path) -> Models:
    return read_models(path)


def models() -> tuple[Models, Encoder | None]:
    """The models in the file ``FUSESEARCH_RANKER`` or of the package, and the encoder that they know.

    Where the encoder is another one or missing, those of the package that know words alone.
    """
    named, found = os.environ.get("FUSESEARCH_RANKER"), encoder()
    chosen = _read(Path(named) if named else MEANING_WEIGHTS if found else WEIGHTS)
    if chosen.encoder is None:
        return chosen, None
    if found is not None and found.identity == chosen.encoder:
        return chosen, found
    logger.warning("ranked by words alone: %s learned from another sentence encoder", named or MEANING_WEIGHTS.name)
    return _read(WEIGHTS), None


def ranking_of(
    issue: str, repository: Repository, folder: Path | None = None, on_progress: Progress | None = None, least: int = 0
) -> Ranking:
    """All candidates for an issue, ranked. ``folder`` is where the index lies, by default in the user's caches.

    Raises :class:`ArtifactError` if the models are damaged or made for other features.
    """
    with Index(repository, folder or Caches().index, on_progress) as index:
        return ranking_in(index, issue, least)


def ranking_in(index: Index, issue: str, least: int = 0) -> Ranking:
    """The same from an open index."""
    chosen, by_meaning = models()
    found = candidates_of(issue, index)
    if by_meaning:
        try:
            add_meaning(found, issue, index, by_meaning)
        except ArtifactError as error:
            logger.warning("ranked by words alone: %s", error)
            chosen = _read(WEIGHTS)
    return rank(found, chosen.file, chosen.function, least)


class RankerLocalizer(BaseLocalizer):
    """As many locations as their probabilities warrant; with ``top``, also that many files with what speaks for them."""

    name = "ranker"

    async def localize(self, instance: Instance, repository: Repository, seed: int | None = None) -> Trajectory:
        """One answer; ``seed`` has no effect."""

        def progress(done: int, total: int) -> None:
            if self.on_event is not None:
                self.on_event("index", {"done": done, "total": total})

        def find() -> Answer:
            issue = instance.problem_statement
            ranking = ranking_of(issue, repository, self.caches.index, progress, FEW_FILES if self.top else 0)
            return for_people(ranking, issue, self.top) if self.top else self.answer(ranking)

        return await answered(instance, self.name, find, agent=self.agent, seed=seed, on_event=self.on_event)

    def answer(self, ranking: Ranking) -> Answer:
        """The answer from a ranking."""
        return ranking.best()


class RankedListLocalizer(RankerLocalizer):
    """Always five files and ten functions, for metrics of rankings."""

    name = "ranker-list"

    def answer(self, ranking: Ranking) -> Answer:
        """The answer from a ranking."""
        return ranking.listed()
