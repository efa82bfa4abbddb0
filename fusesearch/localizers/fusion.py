"""A localizer's answer fused with the ranker's probabilities: ``NAME+ranker`` for every NAME that asks a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from fusesearch.agents.recording import conclusion, record
from fusesearch.core.schema import Answer, Instance, Trajectory
from fusesearch.core.stopping import in_thread
from fusesearch.localizers.base import Localizer, Setup
from fusesearch.localizers.direct import as_answer
from fusesearch.localizers.order import FILES, FUNCTIONS
from fusesearch.localizers.ranker import ranking_of
from fusesearch.localizers.ranker.answer import Ranking
from fusesearch.localizers.registry import FUSED
from fusesearch.search.repository import Repository

NAMED = 0.5
"""Worth of being named first; being named second is worth half of it, and so on."""


def fused(named: Sequence[str], probabilities: Mapping[str, float], listed: int) -> list[str]:
    """What an answer names, in rank order, and the first ``listed`` of a ranking, together in one order.

    Everything is worth its probability in the ranking, and if it is named at place n, :data:`NAMED` / n more.
    """
    worth = dict(islice(probabilities.items(), listed))
    for place, entity in enumerate(named, 1):
        worth[entity] = probabilities.get(entity, 0.0) + NAMED / place
    return sorted(worth, key=lambda entity: -worth[entity])


def fuse(answer: Answer, ranking: Ranking) -> Answer:
    """The answer fused with a ranking: as many files and functions as the longer of the two names."""
    own = ranking.best()
    by_file = {one.candidate.entity: one.probability for one in ranking.files}
    by_function = {one.candidate.entity: one.probability for one in ranking.functions}
    files = fused(answer.files, by_file, FILES)[: max(len(answer.files), len(own.files))]
    inside = [name for name in fused(answer.functions, by_function, FUNCTIONS) if name.partition("::")[0] in files]
    known = {location.entity: location for location in [*answer.modify, *ranking.listed().modify, *own.modify]}
    merged = as_answer(files, inside[: max(len(answer.functions), len(own.functions))])
    return answer.model_copy(update={"modify": [known.get(location.entity, location) for location in merged.modify]})


class FusedLocalizer:
    """``asked``, whose answer is fused; where it has none, the ranker's own."""

    def __init__(self, asked: Localizer, setup: Setup) -> None:
        self.name = asked.name + FUSED
        self.asked = asked
        self.setup = setup

    async def localize(self, instance: Instance, repository: Repository, seed: int | None = None) -> Trajectory:
        """The episode of ``asked`` with the fused answer; its failure or the ranker's is the trajectory's."""
        done = await self.asked.localize(instance, repository, seed)
        done.localizer, spent = self.name, done.seconds

        async def work() -> None:
            ranking = await in_thread(ranking_of, instance.problem_statement, repository, self.setup.caches.index)
            done.stop, done.answer = conclusion(fuse(done.answer or Answer(), ranking))

        if done.error is None:
            await record(done, work(), self.setup.agent.max_seconds)
            done.seconds += spent
        if self.setup.on_event is not None:  # once more, since the listener has the answer of `asked` alone
            self.setup.on_event("end", {"trajectory": done})
        return done
