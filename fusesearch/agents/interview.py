"""Requests from a localizer's own program, one after another, for the systems of the papers that do not loop over tools.

Agentless asks four questions; in CoSIL and OrcaLoca a program decides what to ask next. Each request with its reply is a
:class:`~fusesearch.core.schema.Turn` with a ``prompt``, so that tokens, seconds, calls and gain are counted as for any other
localizer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fusesearch.agents.loop import CallRunner, calls_of, observe
from fusesearch.agents.models.base import Completion, Message, Model, Sampling
from fusesearch.agents.recording import OnEvent, conclusion
from fusesearch.core.config import Agent
from fusesearch.core.schema import Answer, Trajectory, Turn
from fusesearch.search.gain import History


class Interview:
    """Asks a model and records the turns in ``trajectory``. Gain is over the whole episode, as in the loop."""

    def __init__(self, trajectory: Trajectory, model: Model, agent: Agent, sampling: Sampling, on_event: OnEvent | None = None):
        self.trajectory = trajectory
        self.model = model
        self.agent = agent
        self.sampling = sampling
        self._emit = on_event or (lambda kind, payload: None)
        self._history = History()
        self._last: Completion | None = None

    async def ask(
        self, prompt: str, before: Sequence[Message] = (), tools: Sequence[dict[str, Any]] = (), system: str | None = None
    ) -> Turn:
        """The reply to ``prompt`` after the conversation ``before`` (by default a new conversation).

        ``system`` replaces the trajectory's system prompt; an empty one sends no system message. If the conversation does
        not fit the model's context, the turn has no text. Raises :class:`ModelUnavailable`.
        """
        opening = self.trajectory.system if system is None else system
        messages = [Message(role="system", content=opening)] if opening else []
        messages += [*before, *([Message(role="user", content=prompt)] if prompt else [])]
        completion = await self.model.complete(messages, list(tools), self.sampling)
        number = len(self.trajectory.turns) + 1
        turn = Turn(
            text=completion.text, prompt=prompt, calls=calls_of(completion, number) if tools else [], usage=completion.usage,
            extra=completion.extra,
        )  # fmt: skip
        self._last, self.trajectory.changes = completion, completion.changes
        self.trajectory.turns.append(turn)
        self._emit("turn", {"number": number, "turn": turn})
        return turn

    async def observe(self, turn: Turn, runner: CallRunner) -> None:
        """Run the calls of ``turn`` at once and store their observations with gain."""
        await observe(turn, runner, self.agent, self._history)
        self._emit("observations", {"number": len(self.trajectory.turns), "turn": turn})

    def answer(self, answer: Answer) -> None:
        """End with ``answer``, which counts only with a location to modify."""
        self.trajectory.stop, self.trajectory.answer = conclusion(answer, self._last)
