"""Any endpoint with OpenAI's chat completions API: vLLM, SGLang, llama.cpp, Ollama, hosted models.

Calls come as native ``tool_calls`` or, from servers that do not parse them, as text. What a server refuses is left out of
later requests (:mod:`fusesearch.agents.models.dialect`).
"""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from fusesearch.agents.forms import read_calls
from fusesearch.agents.models.base import Completion, FinishReason, Message, Sampling, estimated_usage
from fusesearch.agents.models.dialect import Dialect, Refusal, ToolFormat, plain, refusal_in, refusal_of
from fusesearch.agents.models.retries import MalformedReply, Retries
from fusesearch.agents.models.wire import extra_of, native_calls, text_of
from fusesearch.agents.parsing import CLOSE, OPEN
from fusesearch.core.network import key_for_header, making_client
from fusesearch.core.schema import Usage

if TYPE_CHECKING:
    from openai import AsyncOpenAI

MOST_CHANGES = 8
"""Most refusals of one request that are answered by another form of it."""
NO_ROUTE = {200, 404, 405, 501, 502}
"""Statuses of an address at which a server has no chat completions: also a web page, or an error with status 200."""
PROBE_TOKENS = 16
"""Length of a message that is asked for to learn the length of its prompt."""

_REASONS: dict[Any, FinishReason] = {"length": "length", "tool_calls": "tool_calls", "content_filter": "filter"}
_REASONING = ("reasoning_content", "reasoning")
"""Fields beside a message that hold what the model thought."""


class OpenAICompatibleModel:
    """A model behind ``base_url``; if that has no chat completions, ``/v1`` below it is tried once.

    ``tool_format``: ``native`` sends schemas to the server, ``hermes`` writes them into the system prompt, ``auto`` starts
    with native and switches if the server rejects the tools of a first turn, or leaves them out of the model's prompt: then a
    prompt has as many tokens with tools as without. That is looked up once, after a first turn without a call. ``retries`` and
    ``backoff_seconds`` are those of :class:`~fusesearch.agents.models.retries.Retries`. ``extra_body`` goes with every request.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        api_key: str | None = None,
        *,
        tool_format: ToolFormat = "auto",
        retries: int = 6,
        timeout_seconds: float = 300.0,
        backoff_seconds: float = 0.5,
        extra_body: dict[str, Any] | None = None,
    ) -> None:
        self.name = model
        self.base_url = re.sub(r"((/chat)?/completions)?/*$", "", base_url)
        self._given = self.base_url
        self._first: Refusal | None = None  # what that answered, while another address is tried
        self._settled = re.search(r"/v\d\w*(/|$)", self.base_url) is not None
        self.dialect = Dialect(tool_format)
        self._api_key = api_key
        self._timeout = timeout_seconds
        self._extra = extra_body or {}
        self._client: AsyncOpenAI | None = None
        self._counts = False
        self._retries = Retries(base_url, model, retries, backoff_seconds)

    async def complete(self, messages: list[Message], tools: list[dict[str, Any]], sampling: Sampling) -> Completion:
        """The server's next message. Raises what :meth:`~fusesearch.agents.models.retries.Retries.run` does."""
        completion = await self._retries.run(lambda: self._send(messages, tools, sampling))
        if await self._unshown(completion, messages, tools, sampling):
            self.dialect.tools = False
            told = await self._retries.run(lambda: self._send(messages, tools, sampling))
            # a server whose counts say nothing has shown the tools for all that we know
            self.dialect.tools = self.dialect.shows = told.usage.prompt_tokens == completion.usage.prompt_tokens
            completion = completion if self.dialect.tools else told
        self._settled, self._first = True, None
        moved = [f"asked at {self.base_url}, as {self._given} has no chat completions"] if self.base_url != self._given else []
        return completion.model_copy(update={"changes": [*self.dialect.changes(), *moved]})

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _unshown(self, first: Completion, messages: list[Message], tools: list[dict[str, Any]], sampling: Sampling) -> bool:
        """Whether the prompt of the first turn ``first``, which has no call, was as long as it is without tools."""
        from openai import APIError

        dialect = self.dialect
        if not tools or dialect.tool_format != "auto" or not dialect.tools or dialect.shows is not None:
            return False
        if first.calls or read_calls(first.text, tools)[1]:
            dialect.shows = True
        elif self._counts and first.finish_reason != "context" and all(row.role != "assistant" for row in messages):
            dialect.shows = True
            few = sampling.model_copy(update={"max_new_tokens": min(PROBE_TOKENS, sampling.max_new_tokens)})
            with suppress(APIError, Refusal, AttributeError, TypeError):
                without = await self._reply(dialect.request(messages, [], few))
                dialect.shows = without.usage.prompt_tokens != first.usage.prompt_tokens
        return dialect.shows is False

    async def _send(self, messages: list[Message], tools: list[dict[str, Any]], sampling: Sampling) -> Completion:
        """The reply to the request in the form that the server takes. Raises :class:`Refusal` if it takes none."""
        for _ in range(MOST_CHANGES):
            request, address = self.dialect.request(messages, tools, sampling), self.base_url
            started = time.perf_counter()
            try:
                response = await self._reply(request)
            except Refusal as refusal:
                self.dialect.learn(refusal, request)
                if self.dialect.request(messages, tools, sampling) == request and address == self.base_url:
                    self._move(refusal)
                continue
            self._counts = getattr(response, "usage", None) is not None
            return _completion(response, messages, time.perf_counter() - started)
        raise Refusal(400, f"the server refuses each form of the request: {', '.join(self.dialect.changes())}")

    def _move(self, refusal: Refusal) -> None:
        """Ask below ``/v1`` from now on if that may be what is missing. Else go back, and raise what the server said."""
        first, self._first = self._first, None
        if first is None and not self._settled and refusal.status in NO_ROUTE:
            self._first, self.base_url = refusal, f"{self._given}/v1"
            return
        self._settled = True
        if first is None or refusal.status not in NO_ROUTE:
            raise refusal
        self.base_url = self._given
        raise Refusal(first.status, f"{first.message}; with /v1: {refusal}")

    async def _reply(self, request: dict[str, Any]) -> Any:
        from openai import APIConnectionError, APIError

        client = self._connected()
        try:
            response = await client.chat.completions.create(model=self.name, extra_body=self._extra, **request)
            if self.dialect.streams and not isinstance(response, str):
                response = await _whole(response)
        except APIConnectionError:
            raise
        except APIError as error:
            raise refusal_of(error) from None
        if isinstance(response, str) and response.lstrip().startswith(("data:", ": ", "event:")):
            raise Refusal(400, "stream: the server answers with events alone")
        if isinstance(response, str) and response.lstrip().startswith("<"):
            raise Refusal(200, f"a page instead of a completion, perhaps a login of the network: {plain(response)[:200]}")
        if sent := getattr(response, "error", None):
            raise refusal_in(sent)
        return response

    def _connected(self) -> AsyncOpenAI:
        if self._client is None:
            from openai import AsyncOpenAI

            # always pass a key, so that none from the environment reaches a server it is not meant for
            key = key_for_header(self._api_key or "none", f"the API key for {self.name}")
            with making_client(self.base_url):
                self._client = AsyncOpenAI(api_key=key, base_url=self.base_url, max_retries=0, timeout=self._timeout)
        self._client.base_url = self.base_url
        return self._client


async def _whole(stream: Any) -> Any:
    """The completion that a stream's chunks make, or that a server sent instead of a stream."""
    from openai.lib.streaming.chat import ChatCompletionStreamState
    from openai.types.chat import ChatCompletion

    if "json" in stream.response.headers.get("content-type", ""):
        return ChatCompletion.construct(**json.loads(await stream.response.aread()))
    state = ChatCompletionStreamState()
    async for chunk in stream:
        state.handle_chunk(chunk)
    return state.current_completion_snapshot


def _completion(response: Any, messages: list[Message], seconds: float) -> Completion:
    """A chat completion in the loop's form. Raises :class:`MalformedReply` if it is not one."""
    try:
        choice = response.choices[0]
        message, reason = choice.message, choice.finish_reason
        text, extra = text_of(message.content), extra_of(message)
        old = [SimpleNamespace(function=message.function_call)] if getattr(message, "function_call", None) else None
        calls = native_calls(message.tool_calls or old, [call.id for row in messages for call in row.tool_calls])
        usage = _usage(response, messages, text, seconds)
    except (AttributeError, TypeError, IndexError) as error:
        raise MalformedReply(f"it is not a completion ({error})") from None
    thought = next((name for name in _REASONING if isinstance(extra.get(name), str)), None)
    if not calls and not text.strip() and thought:  # the server took all for reasoning
        text = text_of(extra.pop(thought))
    if calls:
        text = text.replace(OPEN, "").replace(CLOSE, "")
    return Completion(text=text, calls=calls or None, usage=usage, finish_reason=_REASONS.get(reason, "stop"), extra=extra)


def _usage(response: Any, messages: list[Message], text: str, seconds: float) -> Usage:
    usage = getattr(response, "usage", None)
    if usage is None:
        return estimated_usage(messages, text, seconds)
    return Usage(prompt_tokens=usage.prompt_tokens or 0, completion_tokens=usage.completion_tokens or 0, seconds=seconds)
