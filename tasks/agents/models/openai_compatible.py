"""Any endpoint with OpenAI's chat completions API: vLLM, SGLang, llama.cpp, Ollama, hosted models.

Calls come as native ``tool_calls`` or, from servers that do not parse them, as Hermes text. Temporary failures are retried
(429 with Retry-After, 5xx, dropped connections, truncated replies); others are not (400, 401, 404).
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from typing import TYPE_CHECKING, Any, Literal, cast

from tasks.agents.models.base import Completion, Message, Sampling, estimated_usage
from tasks.agents.models.wire import chat_messages
from tasks.agents.parsing import CLOSE, OPEN, call_of
from tasks.core.errors import AGAIN, EndpointDown, ModelUnavailable
from tasks.core.schema import ToolCall, Usage

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI

ToolFormat = Literal["auto", "native", "hermes"]

_OVERFLOW = ("context length", "context_length", "context size", "context window", "maximum model length", "too many tokens")
_TEMPORARY = (408, 409, 425, 429)
MAX_WAIT_SECONDS = 60.0
LEAST_FAILURES = 8
"""Fewest failed requests in a row before an endpoint counts as down."""


class OpenAICompatibleModel:
    """A model behind ``base_url`` (with its ``/v1``).

    ``tool_format``: ``native`` sends schemas to the server, ``hermes`` writes them into the system prompt, ``auto`` starts
    with native and switches if the server rejects tools. ``backoff_seconds`` doubles with each retry up to
    :data:`MAX_WAIT_SECONDS`, which also limits a Retry-After. ``extra_body`` is sent with every request.

    One failed request costs one episode. With a dead endpoint every episode would fail after minutes of retries, so
    :class:`EndpointDown` ends the run once as many requests in a row have failed as ran concurrently (at least
    :data:`LEAST_FAILURES`).
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
        self._retries = retries
        self._timeout = timeout_seconds
        self._backoff = backoff_seconds
        self._extra = extra_body or {}
        self._client: AsyncOpenAI | None = None
        self._running = 0
        self._failed = 0
        self._patience = LEAST_FAILURES

    async def complete(self, messages: list[Message], tools: list[dict[str, Any]], sampling: Sampling) -> Completion:
        """The server's next message.

        Raises :class:`ModelUnavailable` if the server refuses the request or retries run out, and :class:`EndpointDown` if
        that happens repeatedly.
        """
        self._running += 1
        self._patience = max(self._patience, self._running)
        try:
            completion = await self._with_retries(messages, tools, sampling)
        except ModelUnavailable as error:
            self._failed += 1
            if self._failed < self._patience:
                raise
            raise EndpointDown(f"{self._failed} requests in a row failed: {error}; fix that, then {AGAIN}") from error
        finally:
            self._running -= 1
        self._failed = 0
        return completion

    async def _with_retries(self, messages: list[Message], tools: list[dict[str, Any]], sampling: Sampling) -> Completion:
        from openai import APIConnectionError, APIError, APIStatusError

        reason = ""
        for attempt in range(self._retries + 1):
            hermes = self._format == "hermes" and bool(tools)
            try:
                return await self._request(messages, tools, sampling, hermes)
            except APIStatusError as error:
                if _is_overflow(error):
                    return Completion(text="", calls=[], finish_reason="context")
                if tools and not hermes and self._format != "native" and _refuses_tools(error):
                    self._format = "hermes"
                    return await self._with_retries(messages, tools, sampling)
                reason = f"HTTP {error.status_code}: {_message(error)}"
                if not _is_temporary(error):
                    raise ModelUnavailable(f"{self.base_url} refuses the request for {self.name} ({reason})") from None
                wait = _retry_after(error)
            except APIConnectionError as error:
                reason, wait = _one_line(error.__cause__ or error), None
            except (APIError, _MalformedReply, ValueError) as error:
                reason, wait = f"unreadable reply: {_one_line(error)}", None
            if attempt < self._retries:
                backoff = min(self._backoff * 2**attempt, MAX_WAIT_SECONDS) * random.uniform(0.5, 1.0)
                await asyncio.sleep(backoff if wait is None else min(wait, MAX_WAIT_SECONDS))
        raise ModelUnavailable(f"{self.base_url} gave nothing for {self.name} in {self._retries + 1} tries ({reason})")

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
            raise _MalformedReply(str(error)) from None

    def _open_client(self) -> AsyncOpenAI:
        if self._client is None:
            from openai import AsyncOpenAI

            # always pass a key, so that none from the environment reaches a server it is not meant for
            self._client = AsyncOpenAI(
                api_key=self._api_key or "none", base_url=self.base_url, max_retries=0, timeout=self._timeout
            )
        return self._client


class _MalformedReply(Exception):
    """The server answered 200 with something other than a chat completion."""


def _completion(response: Any, messages: list[Message], seconds: float) -> Completion:
    """A chat completion in the loop's form. Raises :class:`_MalformedReply` if it is not one."""
    choices = getattr(response, "choices", None)
    if not isinstance(choices, list) or not choices or getattr(choices[0], "message", None) is None:
        raise _MalformedReply("it holds no choices")
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


def _is_temporary(error: APIStatusError) -> bool:
    """Whether the same request may succeed later. A used-up quota is a 429 that waiting does not fix."""
    return error.code != "insufficient_quota" and (error.status_code in _TEMPORARY or error.status_code >= 500)


def _is_overflow(error: APIStatusError) -> bool:
    message = _message(error).lower()
    return error.status_code in (400, 413, 422) and any(words in message for words in _OVERFLOW)


def _refuses_tools(error: APIStatusError) -> bool:
    return error.status_code in (400, 404, 422, 501) and "tool" in _message(error).lower()


def _retry_after(error: APIStatusError) -> float | None:
    """Seconds that a Retry-After header asks for; None if it is missing or invalid."""
    from email.utils import parsedate_to_datetime

    header = error.response.headers.get("retry-after", "")
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, TypeError, IndexError):
        return None


def _message(error: APIStatusError) -> str:
    """The server's error message. The body may be ``{"error": {"message": ...}}``, its inner object, or anything else."""
    body = error.body
    text = body.get("message") if isinstance(body, dict) else None
    return " ".join(str(text or (json.dumps(body) if body else error.message)).split())[:300]


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
