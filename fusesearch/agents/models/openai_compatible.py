"""Any endpoint with OpenAI's chat completions API: vLLM, SGLang, llama.cpp, Ollama, hosted models.

Calls come as native ``tool_calls`` or, from servers that do not parse them, as Hermes text.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal, cast

from fusesearch.agents.models.base import Completion, Message, Sampling, estimated_usage
from fusesearch.agents.models.retries import MalformedReply, Retries, is_overflow, message_of
from fusesearch.agents.models.wire import chat_messages
from fusesearch.agents.parsing import CLOSE, OPEN, call_of
from fusesearch.core.schema import ToolCall, Usage

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI

ToolFormat = Literal["auto", "native", "hermes"]


class OpenAICompatibleModel:
    """A model behind ``base_url`` (with its ``/v1``).

    ``tool_format``: ``native`` sends schemas to the server, ``hermes`` writes them into the system prompt, ``auto`` starts
    with native and switches if the server rejects tools. ``retries`` and ``backoff_seconds`` are those of
    :class:`~fusesearch.agents.models.retries.Retries`. ``extra_body`` is sent with every request.
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
        self.base_url = base_url
        self._api_key = api_key
        self._format = tool_format
        self._timeout = timeout_seconds
        self._extra = extra_body or {}
        self._client: AsyncOpenAI | None = None
        self._retries = Retries(base_url, model, retries, backoff_seconds)

    async def complete(self, messages: list[Message], tools: list[dict[str, Any]], sampling: Sampling) -> Completion:
        """The server's next message. Raises what :meth:`~fusesearch.agents.models.retries.Retries.run` does."""
        return await self._retries.run(lambda: self._send(messages, tools, sampling))

    async def _send(self, messages: list[Message], tools: list[dict[str, Any]], sampling: Sampling) -> Completion:
        from openai import APIStatusError

        hermes = self._format == "hermes" and bool(tools)
        try:
            return await self._request(messages, tools, sampling, hermes)
        except APIStatusError as error:
            if not tools or hermes or self._format == "native" or is_overflow(error) or not _refuses_tools(error):
                raise
            self._format = "hermes"
            return await self._request(messages, tools, sampling, hermes=True)

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _request(
        self, messages: list[Message], tools: list[dict[str, Any]], sampling: Sampling, hermes: bool
    ) -> Completion:
        options: dict[str, Any] = {"tools": tools} if tools and not hermes else {}
        if sampling.seed is not None:
            options["seed"] = sampling.seed
        started = time.perf_counter()
        response = await self._open_client().chat.completions.create(
            model=self.name,
            messages=cast(Any, chat_messages(messages, tools if hermes else [])),
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            max_tokens=sampling.max_new_tokens,
            extra_body=self._extra,
            **options,
        )
        seconds = time.perf_counter() - started
        try:
            return _completion(response, messages, seconds)
        except (AttributeError, TypeError) as error:
            raise MalformedReply(str(error)) from None

    def _open_client(self) -> AsyncOpenAI:
        if self._client is None:
            from openai import AsyncOpenAI

            # always pass a key, so that none from the environment reaches a server it is not meant for
            self._client = AsyncOpenAI(
                api_key=self._api_key or "none", base_url=self.base_url, max_retries=0, timeout=self._timeout
            )
        return self._client


def _completion(response: Any, messages: list[Message], seconds: float) -> Completion:
    """A chat completion in the loop's form. Raises :class:`MalformedReply` if it is not one."""
    choices = getattr(response, "choices", None)
    if not isinstance(choices, list) or not choices or getattr(choices[0], "message", None) is None:
        raise MalformedReply("it holds no choices")
    message = choices[0].message
    text = message.content if isinstance(message.content, str) else ""
    text = text.encode("utf-8", "replace").decode("utf-8")
    reason = choices[0].finish_reason
    calls = _native_calls(message.tool_calls)
    if calls:
        text = text.replace(OPEN, "").replace(CLOSE, "")
    return Completion(
        text=text,
        calls=calls or None,
        usage=_usage(response, messages, text, seconds),
        finish_reason=reason if reason in ("length", "tool_calls") else "stop",
    )


def _native_calls(tool_calls: Any) -> list[ToolCall]:
    calls = []
    for call in tool_calls or []:
        function = getattr(call, "function", None)
        name, arguments = getattr(function, "name", None), getattr(function, "arguments", None)
        calls.append(call_of(str(getattr(call, "id", None) or ""), name, arguments))
    return calls


def _usage(response: Any, messages: list[Message], text: str, seconds: float) -> Usage:
    usage = getattr(response, "usage", None)
    if usage is None:
        return estimated_usage(messages, text, seconds)
    return Usage(prompt_tokens=usage.prompt_tokens or 0, completion_tokens=usage.completion_tokens or 0, seconds=seconds)


def _refuses_tools(error: APIStatusError) -> bool:
    return error.status_code in (400, 404, 422, 501) and "tool" in message_of(error).lower()
