"""A model that follows a script: for tests, and for policies written by hand."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from fusesearch.agents.models.base import Completion, Message, Sampling, estimated_usage
from fusesearch.core.errors import ModelUnavailable

Reply = str | Completion


class ScriptedModel:
    """Replies from a list, one per turn of an episode, or from a function of the messages so far.

    It keeps no state between requests, so one object serves any number of concurrent episodes. Usage of a text reply is an
    estimate (:func:`fusesearch.agents.models.base.estimated_usage`).
    """

    def __init__(self, script: Sequence[Reply] | Callable[[list[Message]], Reply], name: str = "scripted") -> None:
        self.name = name
        self._script = script

    async def complete(self, messages: list[Message], tools: list[dict[str, Any]], sampling: Sampling) -> Completion:
        """The script's next reply. Raises :class:`ModelUnavailable` at the end of a list."""
        started = time.perf_counter()
        if callable(self._script):
            reply = self._script(messages)
        else:
            turn = sum(message.role == "assistant" for message in messages)
            if turn >= len(self._script):
                raise ModelUnavailable(f"the script of {self.name} has only {len(self._script)} replies")
            reply = self._script[turn]
        if isinstance(reply, Completion):
            return reply.model_copy(deep=True)
        return Completion(text=reply, usage=estimated_usage(messages, reply, time.perf_counter() - started))

    async def close(self) -> None:
        """Nothing to free."""
