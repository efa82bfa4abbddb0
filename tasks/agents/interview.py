"""Requests that a localizer's own program makes, one after another: for the systems of the papers that are no loop of tools.

Agentless asks four questions, CoSIL and OrcaLoca decide by program what is asked next. Each request and its reply is a
:class:`~tasks.core.schema.Turn` with its ``prompt``, so that tokens, seconds, calls and gain are counted as for any other
localizer.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

from tasks.agents.loop import Instructions, OnEvent, Toolset, begun, conclude, observe, recorded
from tasks.agents.models.base import Completion, Message, Model, Sampling
from tasks.agents.parsing import parse_turn
from tasks.core.config import Agent
from tasks.core.schema import Answer, Instance, Trajectory, Turn
from tasks.search.gain import History


class Interview:
    """Asks a model and writes down what was said; gain is over the whole episode, as in the loop."""

    def __init__(self, trajectory: Trajectory, model: Model, agent: Agent, sampling: Sampling, on_event: OnEvent | None = None):
        self.trajectory = trajectory
        self.model = model
        self.agent = agent
        self.sampling = sampling
        self._emit = on_event or (lambda kind, payload: None)
        self._history = History()

    async def ask(
        self, prompt: str, before: Sequence[Message] = (), tools: Sequence[dict[str, Any]] = (), system: str | None = None
    ) -> Turn:
        """The reply to ``prompt``, which follows the conversation ``before`` (none: a new conversation).

        The system prompt is the trajectory's unless ``system`` is given; an empty one sends none. Where the
        conversation does not fit the model's context the turn has no text. Raises :class:`ModelUnavailable`.
        """
        opening = self.trajectory.system if system is None else system
        messages = [Message(role="system", content=opening)] if opening else []
        messages += [*before, *([Message(role="user", content=prompt)] if prompt else [])]
        completion = await self.model.complete(messages, list(tools), self.sampling)
        number = len(self.trajectory.turns) + 1
        turn = Turn(
            text=completion.text, prompt=prompt, calls=_calls(completion, number) if tools else [], usage=completion.usage
        )
        self.trajectory.turns.append(turn)
        self._emit("turn", {"number": number, "turn": turn})
        return turn

    async def observe(self, turn: Turn, toolset: Toolset) -> None:
        """Run the calls of ``turn`` at once; its observations carry their gain."""
        await observe(turn, toolset, self.agent, self._history)
        self._emit("observations", {"number": len(self.trajectory.turns), "turn": turn})

    def answer(self, answer: Answer) -> None:
        """End with ``answer``; without a location to modify it is none."""
        conclude(self.trajectory, answer)


class Interviewer(Protocol):
    """A localizer whose program asks: its name, its model, and the limits of an episode."""

    name: str
    model: Model
    agent: Agent
    sampling: Sampling
    on_event: OnEvent | None


async def interviewed(
    by: Interviewer,
    instance: Instance,
    told: Instructions,
    seed: int | None,
    work: Callable[[Interview], Coroutine[Any, Any, None]],
) -> Trajectory:
    """One episode in which ``work`` asks; failures are told as :func:`~tasks.agents.loop.recorded` tells them."""
    sampling = by.sampling.seeded(seed)
    trajectory = begun(instance, by.model, by.agent, sampling, told, localizer=by.name)
    interview = Interview(trajectory, by.model, by.agent, sampling, by.on_event)
    return await recorded(trajectory, work(interview), by.agent.max_seconds, by.on_event)


def _calls(completion: Completion, number: int) -> list[Any]:
    """Calls of the reply; those without an id of the server's get one that is unique in the episode."""
    calls = parse_turn(completion.text)[1] if completion.calls is None else completion.calls
    for index, call in enumerate(calls):
        call.id = call.id if completion.calls is not None and call.id else f"call_{number}_{index}"
    return calls
