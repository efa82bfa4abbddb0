"""Episodes of localizers that ask no model: one turn with the answer, computed in a thread."""

from __future__ import annotations

from fusesearch.agents.answers import format_values
from fusesearch.agents.parsing import format_answer
from fusesearch.agents.prompts import render_issue
from fusesearch.agents.recording import Instructions, conclusion, new_trajectory, record
from fusesearch.core.errors import OutsideRootError, ToolError
from fusesearch.core.schema import Answer, Instance, Location, Trajectory, Turn
from fusesearch.core.stopping import in_thread
from fusesearch.core.text import decoded
from fusesearch.localizers.base import BaseLocalizer
from fusesearch.localizers.order import in_order
from fusesearch.search.repository import Repository

MAX_FILE_BYTES = 1_000_000
"""Larger files are not read."""


class DirectLocalizer(BaseLocalizer):
    """A localizer that asks no model: a subclass has :meth:`find`."""

    def find(self, instance: Instance, repository: Repository, seed: int | None) -> Answer:
        """The answer; the same for the same ``seed``, which has an effect only where something is drawn. Runs in a thread."""
        raise NotImplementedError

    async def localize(self, instance: Instance, repository: Repository, seed: int | None = None) -> Trajectory:
        """One turn with the answer. Infrastructure failures become the trajectory's error."""
        instructions = Instructions("", render_issue(self.agent, instance.problem_statement), [])
        trajectory = new_trajectory(instance, self.agent, instructions, localizer=self.name, seed=seed)

        async def work() -> None:
            answer = await in_thread(self.find, instance, repository, seed)
            turn = Turn(text=format_values(answer.values) if answer.values else format_answer(answer))
            trajectory.turns.append(turn)
            trajectory.stop, trajectory.answer = conclusion(answer)
            if self.on_event is not None:
                self.on_event("turn", {"number": 1, "turn": turn})

        return await record(trajectory, work(), self.agent.max_seconds, self.on_event)


def as_answer(files: list[str], functions: list[str]) -> Answer:
    """One ranking in :func:`~fusesearch.localizers.order.in_order`."""
    entities = [entity.partition("::") for entity in in_order(files, functions)]
    return Answer(modify=[Location(path=path, function=function or None) for path, _, function in entities])


def readable_source(repository: Repository, path: str, limit: int = MAX_FILE_BYTES) -> str | None:
    """Text of a file, or None if it is larger than ``limit`` bytes, missing or outside the repository."""
    try:
        data = repository.read_bytes(repository.resolve(path), limit + 1)
    except (ToolError, OutsideRootError):
        return None
    return decoded(data) if len(data) <= limit else None
