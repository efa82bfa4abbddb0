"""``bm25``: words of the issue against the words of every file and function, without a model."""

from __future__ import annotations

from tasks.agents.loop import OnEvent
from tasks.code.per_snapshot import PerSnapshot
from tasks.core.config import Agent
from tasks.core.schema import Answer, Instance, Trajectory
from tasks.localizers.bm25.index import Index
from tasks.localizers.direct import FILES, FUNCTIONS, answered, as_answer
from tasks.search.repository import Repository

__all__ = ["Bm25Localizer", "Index"]

_INDEXES = PerSnapshot(Index, lambda index: index.bytes)


class Bm25Localizer:
    """The ``files`` best files, and the ``functions`` best functions in them."""

    name = "bm25"

    def __init__(self, agent: Agent, *, files: int = FILES, functions: int = FUNCTIONS, on_event: OnEvent | None = None) -> None:
        self.agent = agent
        self.files = files
        self.functions = functions
        self.on_event = on_event

    async def localize(self, instance: Instance, repository: Repository, seed: int | None = None) -> Trajectory:
        """One answer; ``seed`` changes nothing."""

        def find() -> Answer:
            return as_answer(*_INDEXES.get(repository).best(instance.problem_statement, self.files, self.functions))

        return await answered(instance, self.name, find, agent=self.agent, seed=seed, on_event=self.on_event)
