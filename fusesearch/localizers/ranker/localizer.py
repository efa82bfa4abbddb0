"""The ranker as localizers: with as many locations as it is sure of, for people, and as a list for metrics."""

from __future__ import annotations

from fusesearch.core.schema import Answer, Instance
from fusesearch.localizers.direct import DirectLocalizer
from fusesearch.localizers.ranker import answer_of, ranking_of
from fusesearch.localizers.ranker.answer import Ranking, as_answer
from fusesearch.localizers.ranker.building import Progress
from fusesearch.search.repository import Repository


class RankerLocalizer(DirectLocalizer):
    """As many locations as their probabilities warrant; with ``top``, also that many files with what speaks for them."""

    name = "ranker"

    def find(self, instance: Instance, repository: Repository, seed: int | None) -> Answer:
        """The answer, after ``index`` events while the index is made."""

        def progress(done: int, total: int) -> None:
            if self.on_event is not None:
                self.on_event("index", {"done": done, "total": total})

        issue = instance.problem_statement
        if self.top:
            return as_answer(answer_of(issue, repository, self.caches.index, Progress(progress), self.top))
        return self.answer(ranking_of(issue, repository, self.caches.index, Progress(progress)))

    def answer(self, ranking: Ranking) -> Answer:
        """The answer from a ranking."""
        return ranking.best()


class RankedListLocalizer(RankerLocalizer):
    """Always five files and ten functions, for metrics of rankings."""

    name = "ranker-list"

    def answer(self, ranking: Ranking) -> Answer:
        """The answer from a ranking."""
        return ranking.listed()
