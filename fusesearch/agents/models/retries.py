"""When a request to a model server is tried again, and when a server counts as down.

Temporary failures are retried (429 with Retry-After, 5xx, dropped connections, truncated replies); others are not (400, 401,
404). A reply that does not come in time is asked for once more alone: a server goes on with what nobody waits for any longer, so
each further try would make it slower.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from fusesearch.agents.models.base import Completion
from fusesearch.agents.models.dialect import Refusal, refusal_of
from fusesearch.core.errors import AGAIN, EndpointDown, ModelUnavailable, one_line
from fusesearch.core.network import network_note

if TYPE_CHECKING:
    from openai import APITimeoutError

MAX_WAIT_SECONDS = 60.0
LEAST_FAILURES = 8
"""Fewest failed requests in a row before an endpoint counts as down."""
MOST_LATE = 2
"""Most replies to one request that are not waited for to the end."""
LASTING = {"TooManyRedirects", "UnsupportedProtocol", "InvalidURL", "LocalProtocolError"}
"""Failures of a connection that come again with each try."""
SLOW = (
    "it is too slow or too busy: allow fewer tokens a message (--max-new-tokens, max_new_tokens), fewer episodes at once "
    "(--concurrency) or more time (timeout_seconds)"
)


class MalformedReply(Exception):
    """The server answered 200 with something other than a completion."""


class Retries:
    """Runs requests for the model ``name`` at ``where``, which an error names.

    ``backoff_seconds`` doubles with each retry up to :data:`MAX_WAIT_SECONDS`, which also limits a Retry-After.

    One failed request costs one episode. With a dead endpoint every episode would fail after minutes of retries, so
    :class:`EndpointDown` ends the run once as many requests in a row have failed as ran concurrently (at least
    :data:`LEAST_FAILURES`).
    """

    def __init__(self, where: str, name: str, retries: int, backoff_seconds: float) -> None:
        self._where = where
        self._name = name
        self._retries = retries
        self._backoff = backoff_seconds
        self._running = 0
        self._failed = 0
        self._patience = LEAST_FAILURES

    async def run(self, send: Callable[[], Awaitable[Completion]]) -> Completion:
        """What ``send`` returns, called again after temporary failures. A conversation that is too long ends as ``context``.

        Raises :class:`ModelUnavailable` if the server refuses the request or retries run out, and :class:`EndpointDown` if
        that happens repeatedly.
        """
        self._running += 1
        self._patience = max(self._patience, self._running)
        try:
            completion = await self._tried(send)
        except ModelUnavailable as error:
            self._failed += 1
            if self._failed < self._patience:
                raise
            raise EndpointDown(f"{self._failed} requests in a row failed: {error}; fix that, then {AGAIN}") from error
        finally:
            self._running -= 1
        self._failed = 0
        return completion

    async def _tried(self, send: Callable[[], Awaitable[Completion]]) -> Completion:
        from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError

        reason, late = "", 0
        for attempt in range(self._retries + 1):
            try:
                return await send()
            except (APIStatusError, Refusal) as error:
                refusal = error if isinstance(error, Refusal) else refusal_of(error)
                if refusal.overflow:
                    return Completion(text="", calls=[], finish_reason="context")
                reason = str(refusal)
                if not refusal.temporary:
                    raise ModelUnavailable(
                        f"{self._where} refuses the request for {self._name} ({reason}{network_note(refusal, self._where)})"
                    ) from None
                wait = refusal.wait
            except APITimeoutError as error:
                reason, wait, late = _waited(error), None, late + 1
                if late >= MOST_LATE:
                    break
            except APIConnectionError as error:
                cause = error.__cause__ or error
                reason, wait = one_line(cause) + network_note(cause, self._where), None
                if type(cause).__name__ in LASTING:
                    break
            except (APIError, MalformedReply, ValueError) as error:
                reason, wait = f"unreadable reply: {one_line(error)}", None
            if attempt < self._retries:
                backoff = min(self._backoff * 2**attempt, MAX_WAIT_SECONDS) * random.uniform(0.5, 1.0)
                await asyncio.sleep(backoff if wait is None else min(wait, MAX_WAIT_SECONDS))
        tries = f"{attempt + 1} tr{'ies' if attempt else 'y'}"
        raise ModelUnavailable(f"{self._where} gave nothing for {self._name} in {tries} ({reason})")


def _waited(error: APITimeoutError) -> str:
    """What the end of the time for a reply, or for a connection, says."""
    cause = type(error.__cause__).__name__
    if cause != "ReadTimeout":
        return cause
    seconds = error.request.extensions.get("timeout", {}).get("read")
    return f"no reply within {seconds or 0:g} s: {SLOW}"
