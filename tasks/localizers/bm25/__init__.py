"""``bm25``: words of the issue against the words of every file and function, without a model."""

from __future__ import annotations

from tasks.code.per_snapshot import PerSnapshot
from tasks.core.schema import Answer, Instance, Trajectory
from tasks.localizers.base import BaseLocalizer
from tasks.localizers.bm25.index import Index
from tasks.localizers.direct import FILES, FUNCTIONS, answered, as_answer
from tasks.search.repository import Repository

__all__ = ["Bm25Localizer", "Index"]

_INDEXES = PerSnapshot(Index, lambda index: index.bytes)


class Bm25Localizer(BaseLocalizer):
    """The ``files`` best files, and the ``functions`` best functions in them."""

    name = "bm25"
    files = FILES
    functions = FUNCTIONS

    async def localize(self, instance: Instance, repository: Repository, seed: int | None = None) -> Trajectory:
        """One answer; ``seed`` changes nothing."""

        def find() -> Answer:
            return as_answer(*_INDEXES.get(repository).best(instance.problem_statement, self.files, self.functions))

        return await answered(instance, self.name, find, agent=self.agent, seed=seed, on_event=self.on_event)
