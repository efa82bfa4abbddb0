"""A model whose every message with calls has as many of them as are demanded (FuseSearch figure 1b: enforced parallelism)."""

from __future__ import annotations

from fusesearch.agents.loop import calls_of
from fusesearch.agents.models.base import Completion, Message, Model, Sampling
from fusesearch.agents.parsing import format_calls
from fusesearch.core.schema import ToolCall, Usage

TRIES = 8
"""Further samples of one message, at most."""


class Enforced:
    """Samples a message of ``model`` again, with other seeds, until it has ``calls`` calls; joins those of all samples.

    An answer stays as it is: only searches are widened. Needs a temperature above 0, or every sample is the same.
    """

    def __init__(self, model: Model, calls: int) -> None:
        self.model, self.calls, self.name = model, calls, f"{model.name}, {calls} calls a turn"

    async def complete(self, messages: list[Message], tools: list[dict[str, object]], sampling: Sampling) -> Completion:
        """The next message, with the calls of as many samples as it took."""
        first = await self.model.complete(messages, tools, sampling)
        joined, usage = _readable(first), first.usage
        if not joined:
            return first
        for attempt in range(1, TRIES + 1):
            if len(joined) >= self.calls:
                break
            again = sampling.model_copy(update={"seed": (sampling.seed or 0) + attempt})
            more = await self.model.complete(messages, tools, again)
            usage = _with(usage, more.usage)
            joined += _readable(more)
        text = format_calls((call.name, call.arguments) for call in joined[: self.calls])
        return Completion(text=text, usage=usage, finish_reason="tool_calls")

    async def close(self) -> None:
        """Close the model."""
        await self.model.close()


def _readable(completion: Completion) -> list[ToolCall]:
    return [call for call in calls_of(completion, 0) if call.error is None]


def _with(first: Usage, second: Usage) -> Usage:
    """Time and sampled tokens of both. The prompt counts once: a model that obeyed would have been asked once."""
    return first.model_copy(
        update={
            "completion_tokens": first.completion_tokens + second.completion_tokens,
            "seconds": first.seconds + second.seconds,
        }
    )
