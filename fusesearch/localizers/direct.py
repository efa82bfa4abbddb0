"""Episodes of localizers that ask no model: one turn with the answer, computed in a thread."""

from __future__ import annotations

from collections.abc import Callable

from fusesearch.agents.answers import format_values
from fusesearch.agents.parsing import format_answer
from fusesearch.agents.prompts import render_issue
from fusesearch.agents.recording import Instructions, OnEvent, conclusion, new_trajectory, record
from fusesearch.core.config import Agent
from fusesearch.core.errors import OutsideRootError, ToolError
from fusesearch.core.schema import Answer, Instance, Location, Trajectory, Turn
from fusesearch.core.stopping import in_thread
from fusesearch.search.repository import Repository

FILES, FUNCTIONS = 5, 10
"""Length of a ranking made without a model: as deep as the protocols look (Recall@5 and nDCG@5; Acc@10 of functions)."""


async def answered(
    instance: Instance,
    name: str,
    find: Callable[[], Answer],
    *,
    agent: Agent,
    seed: int | None = None,
    on_event: OnEvent | None = None,
) -> Trajectory:
    """The trajectory of localizer ``name``, whose only work is ``find``. Infrastructure failures become its error."""
    instructions = Instructions("", render_issue(agent, instance.problem_statement), [])
    trajectory = new_trajectory(instance, agent, instructions, localizer=name, seed=seed)

    async def work() -> None:
        answer = await in_thread(find)
        said = answer.text if answer.outcome else format_answer(answer)
        turn = Turn(text=format_values(answer.values) if answer.values else said)
        trajectory.turns.append(turn)
        trajectory.stop, trajectory.answer = conclusion(answer)
        if on_event is not None:
            on_event("turn", {"number": 1, "turn": turn})

    return await record(trajectory, work(), agent.max_seconds, on_event)


def as_answer(files: list[str], functions: list[str]) -> Answer:
    """One ranking that preserves the order of both ``files`` and ``functions`` (entities).

    A function takes the place of its file's entry. If a function of another file ranks higher, the file keeps an entry of its
    own and the function comes later.
    """
    remaining = list(files)
    modify: list[Location] = []
    for entity in functions:
        path, _, function = entity.partition("::")
        while path in remaining and remaining[0] != path:
            modify.append(Location(path=remaining.pop(0)))
        if path in remaining:
            remaining.remove(path)
        modify.append(Location(path=path, function=function))
    return Answer(modify=[*modify, *(Location(path=path) for path in remaining)])


def readable_source(repository: Repository, path: str, limit: int) -> str | None:
    """Text of a file, or None if it is larger than ``limit`` bytes, missing or outside the repository."""
    try:
        data = repository.read_bytes(repository.resolve(path), limit + 1)
    except (ToolError, OutsideRootError):
        return None
    return data.decode("utf-8-sig", "replace") if len(data) <= limit else None
