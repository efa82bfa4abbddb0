"""The protocol of models: messages and tools in, a completion out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from pydantic import Field

from fusesearch.core.schema import Record, Role, Tokens, ToolCall, Usage

CHARS_PER_TOKEN = 4
FinishReason = Literal["stop", "tool_calls", "length", "filter", "context"]


class Message(Record):
    """One chat message as a model gets it.

    An assistant message has its raw text in ``content``, including ``<tool_call>`` blocks; ``tool_calls`` is set only if
    the server parsed the calls out of the text, or they had another form. ``tokens`` are the recorded ids that the model saw
    and sampled for an assistant message, if any: a model continues from them and never re-tokenizes. ``extra`` is what a server
    sent beside the message, such as its reasoning, and may want back.
    """

    role: Role
    content: str
    tool_calls: list[ToolCall] = Field(default_factory=list)
    tool_call_id: str | None = None
    tokens: Tokens | None = None
    extra: dict[str, Any] = Field(default_factory=dict)


class Sampling(Record):
    """How the next message is sampled. Temperature 0 is greedy; ``max_new_tokens`` limits one message."""

    temperature: float = Field(0.0, ge=0)
    top_p: float = Field(1.0, gt=0, le=1)
    max_new_tokens: int = Field(2048, ge=1)
    seed: int | None = None

    def seeded(self, seed: int | None) -> Sampling:
        """The same sampling with ``seed``, unless that is None."""
        return self if seed is None else self.model_copy(update={"seed": seed})


class Completion(Record):
    """One message that a model wrote.

    ``calls`` is None if the calls are still in ``text``; the loop then parses them, and fills in empty ids.
    ``finish_reason`` is ``length`` if the message was cut at ``max_new_tokens``, ``filter`` if a filter of the server cut it,
    and ``context`` if the conversation did not fit the model's context, so that nothing was written. ``extra`` is that of
    :class:`Message`; ``changes`` says in words what requests lack because the server refused it.
    """

    text: str
    calls: list[ToolCall] | None = None
    usage: Usage = Field(default_factory=Usage)
    tokens: Tokens | None = None
    finish_reason: FinishReason = "stop"
    extra: dict[str, Any] = Field(default_factory=dict)
    changes: list[str] = Field(default_factory=list)


class Model(Protocol):
    """Anything that writes the next message of a conversation. One object serves many concurrent episodes."""

    name: str

    async def complete(self, messages: list[Message], tools: list[dict[str, Any]], sampling: Sampling) -> Completion:
        """The next assistant message.

        ``tools`` are schemas in OpenAI's form, or empty if only the prompt describes the tools. Raises
        :class:`fusesearch.core.errors.ModelUnavailable` for an infrastructure failure, after retries, and
        :class:`fusesearch.core.errors.EndpointDown` if failures continue. The content of a conversation must not raise.
        """
        ...

    async def close(self) -> None:
        """Free connections and memory; the object cannot be used afterwards."""
        ...


class TokenModel(Model, Protocol):
    """A model whose completions have ``tokens``, by ``tokenizer``."""

    tokenizer: Any


def estimated_usage(messages: Sequence[Message], reply: str, seconds: float = 0.0) -> Usage:
    """Estimated token counts without a tokenizer: a quarter of the characters."""
    prompt = sum(len(message.content) for message in messages)
    return Usage(prompt_tokens=prompt // CHARS_PER_TOKEN, completion_tokens=-(-len(reply) // CHARS_PER_TOKEN), seconds=seconds)
