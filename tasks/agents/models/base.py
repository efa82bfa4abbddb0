"""The seam between the loop and whatever writes the next message: messages and tools in, a completion out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from pydantic import Field

from tasks.core.schema import Record, Role, Tokens, ToolCall, Usage

CHARS_PER_TOKEN = 4
FinishReason = Literal["stop", "tool_calls", "length", "context"]


class Message(Record):
    """One chat message as a model is given it.

    An assistant message holds its raw text in ``content``, ``<tool_call>`` blocks included; ``tool_calls`` is filled
    only when the server itself parsed the calls out of the text. ``tokens`` are the ids the model saw and sampled for
    an assistant message, where they were recorded: a model that gets them continues from them and never re-tokenizes.
    """

    role: Role
    content: str
    tool_calls: list[ToolCall] = Field(default_factory=list)
    tool_call_id: str | None = None
    tokens: Tokens | None = None


class Sampling(Record):
    """How the next message is sampled. Temperature 0 is greedy; ``max_new_tokens`` bounds one message."""

    temperature: float = Field(0.0, ge=0)
    top_p: float = Field(1.0, gt=0, le=1)
    max_new_tokens: int = Field(2048, ge=1)
    seed: int | None = None

    def seeded(self, seed: int | None) -> Sampling:
        """The same with ``seed``; itself where none is given."""
        return self if seed is None else self.model_copy(update={"seed": seed})


class Completion(Record):
    """One message a model wrote.

    ``calls`` is None when the calls are still in ``text`` and are to be parsed from it; an id left empty is filled
    in by the loop. ``finish_reason`` is ``length`` when the message was cut at ``max_new_tokens``, and ``context`` when
    the conversation did not fit the model's context, so that nothing was written.
    """

    text: str
    calls: list[ToolCall] | None = None
    usage: Usage = Field(default_factory=Usage)
    tokens: Tokens | None = None
    finish_reason: FinishReason = "stop"


class Model(Protocol):
    """Anything that writes the next message of a conversation. One object serves many episodes at once."""

    name: str

    async def complete(self, messages: list[Message], tools: list[dict[str, Any]], sampling: Sampling) -> Completion:
        """The next assistant message.

        ``tools`` are schemas as OpenAI's API takes them; empty when the prompt alone tells of the tools. Raises
        :class:`tasks.core.errors.ModelUnavailable` when the world failed, after retries, and
        :class:`tasks.core.errors.EndpointDown` when it goes on failing; nothing a conversation contains may raise anything else.
        """
        ...

    async def close(self) -> None:
        """Free connections and memory; the object is not used afterwards."""
        ...


def estimated_usage(messages: Sequence[Message], reply: str, seconds: float = 0.0) -> Usage:
    """Token counts where there is no tokenizer: a quarter of the characters."""
    prompt = sum(len(message.content) for message in messages)
    return Usage(prompt_tokens=prompt // CHARS_PER_TOKEN, completion_tokens=-(-len(reply) // CHARS_PER_TOKEN), seconds=seconds)
