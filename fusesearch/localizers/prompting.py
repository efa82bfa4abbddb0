"""What the systems that ask step by step have in common: the episode, prompts from ``.md`` files, the room in a request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from fusesearch.agents.loop import CallRunner, observe
from fusesearch.agents.models.base import CHARS_PER_TOKEN, Completion, Message, Model, Sampling
from fusesearch.agents.prompts import render_issue
from fusesearch.agents.recording import Instructions, OnEvent, conclusion, new_trajectory, record
from fusesearch.core.config import Agent
from fusesearch.core.schema import Answer, Instance, Trajectory, Turn
from fusesearch.localizers.base import BaseLocalizer
from fusesearch.search.gain import History
from fusesearch.search.repository import Repository


class Interview:
    """Asks a model and records the turns in ``trajectory``. Gain is over the whole episode, as in the loop.

    Each request with its reply is a :class:`~fusesearch.core.schema.Turn` with a ``prompt``, so that tokens, seconds, calls and
    gain are counted as for any other localizer.
    """

    def __init__(self, trajectory: Trajectory, model: Model, agent: Agent, sampling: Sampling, on_event: OnEvent | None = None):
        self.trajectory = trajectory
        self.model = model
        self.agent = agent
        self.sampling = sampling
        self._emit = on_event or (lambda kind, payload: None)
        self._history: History = frozenset()
        self._last: Completion | None = None

    async def ask(self, prompt: str, before: Sequence[Message] = (), system: str | None = None) -> Turn:
        """The reply to ``prompt`` after the conversation ``before`` (by default a new conversation).

        ``system`` replaces the trajectory's system prompt; an empty one sends no system message. If the conversation does
        not fit the model's context, the turn has no text. Raises :class:`ModelUnavailable`.
        """
        opening = self.trajectory.system if system is None else system
        messages = [Message(role="system", content=opening)] if opening else []
        messages += [*before, Message(role="user", content=prompt)]
        completion = await self.model.complete(messages, [], self.sampling)
        turn = Turn(text=completion.text, prompt=prompt, usage=completion.usage, extra=completion.extra)
        self._last, self.trajectory.changes = completion, completion.changes
        self.trajectory.turns.append(turn)
        self._emit("turn", {"number": len(self.trajectory.turns), "turn": turn})
        return turn

    async def observe(self, turn: Turn, runner: CallRunner) -> None:
        """Run the calls of ``turn`` at once and store their observations with gain."""
        self._history = await observe(turn, runner, self.agent, self._history)
        self._emit("observations", {"number": len(self.trajectory.turns), "turn": turn})

    def answer(self, answer: Answer) -> None:
        """End with ``answer``, which counts only with a location to modify."""
        self.trajectory.stop, self.trajectory.answer = conclusion(answer, self._last)


T = TypeVar("T")

MIN_ROOM = 1000
_FRAME_TOKENS = 600
"""Tokens reserved for the prompts' own text."""


class AskingLocalizer(BaseLocalizer):
    """A localizer whose own program asks the model: a subclass has :meth:`work`."""

    def instructions(self, issue: str) -> Instructions:
        """The first messages for the text of an issue; by default no system prompt and no tools."""
        return Instructions("", issue, [])

    async def work(self, interview: Interview, instance: Instance, repository: Repository) -> None:
        """Ask, and give the answer to ``interview``."""
        raise NotImplementedError

    async def localize(self, instance: Instance, repository: Repository, seed: int | None = None) -> Trajectory:
        """One episode; see :func:`~fusesearch.agents.recording.record` for failures."""
        instructions = self.instructions(render_issue(self.agent, instance.problem_statement))
        sampling = self.sampling.seeded(seed)
        trajectory = new_trajectory(
            instance, self.agent, instructions, localizer=self.name, model=self.model.name, seed=sampling.seed
        )
        work = self.work(Interview(trajectory, self.model, self.agent, sampling, self.on_event), instance, repository)
        return await record(trajectory, work, self.agent.max_seconds, self.on_event)


def room(agent: Agent) -> int:
    """Characters of material that fit into one request, at four characters per token, with room for the reply."""
    return max(CHARS_PER_TOKEN * (agent.max_context_tokens - agent.max_new_tokens - _FRAME_TOKENS), MIN_ROOM)


async def ask_until(interview: Interview, prompt: Callable[[int], str], read: Callable[[str], T], attempts: int) -> T:
    """Ask up to ``attempts`` times, until ``read`` finds something in the reply. Retries use temperature 1.

    ``prompt`` gets the number of characters it may use, which is halved when a request did not fit the model's context. Each
    prompt is a conversation of its own, without a system prompt. Both functions run in threads. Returns what ``read`` made of
    the last reply.
    """
    sampling, chars = interview.sampling, room(interview.agent)
    try:
        for attempt in range(attempts):
            turn = await interview.ask(await asyncio.to_thread(prompt, chars), system="")
            found = await asyncio.to_thread(read, turn.text)
            if found:
                return found
            chars = chars if turn.text else max(chars // 2, MIN_ROOM)
            seed = None if sampling.seed is None else sampling.seed + attempt + 1
            interview.sampling = sampling.model_copy(update={"temperature": 1.0, "seed": seed})
        return found
    finally:
        interview.sampling = sampling
