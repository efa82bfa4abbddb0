"""The trajectory of an episode, from its first messages to its end, whoever searches: the loop, or a program without a model."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fusesearch.agents.parsing import parse_answer
from fusesearch.core.errors import InfrastructureError, RepositoryError
from fusesearch.core.schema import Answer, Instance, StopReason, Trajectory

if TYPE_CHECKING:
    from fusesearch.agents.models.base import Completion, FinishReason
    from fusesearch.core.config import Agent

OnEvent = Callable[[str, dict[str, Any]], None]
_CUT: dict[FinishReason, StopReason] = {"length": "length", "filter": "filter", "context": "max_context"}


@dataclass(frozen=True)
class Instructions:
    """The first messages of an episode, the schemas of its tools, and the reader of its answer."""

    system: str
    issue: str
    tools: list[dict[str, Any]]
    read: Callable[[str], Answer] = parse_answer

    def answer(self, text: str) -> Answer:
        """The answer in a message; an empty one if all that it names is the example of the system prompt."""
        answer, example = self.read(text), self.read(self.system)
        named, shown = ({*each.values, *(place.entity for place in each.modify)} for each in (answer, example))
        return Answer() if named and named <= shown else answer


def new_trajectory(
    instance: Instance,
    agent: Agent,
    instructions: Instructions,
    *,
    localizer: str,
    model: str = "",
    seed: int | None = None,
    guidance: int | None = None,
) -> Trajectory:
    """The trajectory of an episode before its first turn, marked as interrupted until :func:`record` completes it."""
    return Trajectory(
        instance_id=instance.instance_id, repo=instance.repo, base_commit=instance.base_commit, localizer=localizer,
        model=model, mode=agent.mode, system=instructions.system, issue=instructions.issue, guidance=guidance, seed=seed,
        stop="error", error="interrupted",
    )  # fmt: skip


async def record(
    trajectory: Trajectory, search: Coroutine[Any, Any, None], max_seconds: float | None, on_event: OnEvent | None = None
) -> Trajectory:
    """Run ``search``, which fills ``trajectory``, for at most ``max_seconds``. Infrastructure failures become its error."""
    started = time.perf_counter()
    limit = asyncio.timeout(max_seconds)
    try:
        async with limit:
            await search
        trajectory.error = None
    except (InfrastructureError, RepositoryError, OSError) as error:
        reason = f"the episode took over {max_seconds:g} s" if max_seconds and limit.expired() else " ".join(str(error).split())
        trajectory.stop, trajectory.error = "error", reason or type(error).__name__
    finally:
        trajectory.seconds = time.perf_counter() - started
        if on_event is not None:
            on_event("end", {"trajectory": trajectory})
    return trajectory


def conclusion(answer: Answer, last: Completion | None = None) -> tuple[StopReason, Answer | None]:
    """How an episode ends with ``answer``. It counts if it names a location to modify or has the text of a question's answer.

    ``last`` is the message that it was read from: if that was cut, this is why there is no answer.
    """
    counts = bool(answer.modify or answer.text)
    stop = "answer" if counts else _CUT.get(last.finish_reason, "no_answer") if last else "no_answer"
    return stop, answer if counts or answer.related else None
