"""One episode of a localizer with a model that tells the kinds of its requests apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fusesearch.agents.models.base import Message
from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.core.config import Agent
from fusesearch.core.schema import Instance, Trajectory
from fusesearch.localizers.base import Setup
from fusesearch.localizers.registry import make_localizer
from fusesearch.search.repository import Repository


class Dialogue(ScriptedModel):
    """Replies by the first of ``marks`` that the last message contains; a list is used up from request to request."""

    def __init__(self, marks: Mapping[str, str], replies: Mapping[str, str | list[str]], usual: str = "") -> None:
        super().__init__(self._reply)
        self.marks, self.replies, self.usual = marks, replies, usual
        self.asked: list[tuple[str, list[Message]]] = []

    def _reply(self, messages: list[Message]) -> str:
        kind = next(name for name, mark in self.marks.items() if mark in messages[-1].content)
        self.asked.append((kind, list(messages)))
        reply = self.replies.get(kind, self.usual)
        return (reply.pop(0) if reply else self.usual) if isinstance(reply, list) else reply

    @property
    def kinds(self) -> list[str]:
        """The kinds of all requests."""
        return [kind for kind, _ in self.asked]

    def prompt(self, kind: str) -> str:
        """The end of the last request of a kind."""
        return next(messages[-1].content for name, messages in reversed(self.asked) if name == kind)


async def localized(
    name: str, model: ScriptedModel, repository: Repository, issue: str, agent: Agent | None = None, **setup: Any
) -> Trajectory:
    """The episode of a localizer on an issue."""
    instance = Instance(instance_id="i", repo="o/shop", base_commit="c", problem_statement=issue)
    return await make_localizer(name, Setup(model, agent or Agent(), **setup)).localize(instance, repository, seed=3)
