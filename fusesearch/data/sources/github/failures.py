"""Failed requests to GitHub: how PyGithub repeats them, and the meaning of those it does not repeat.

GitHub reports the same problem in several ways. A rate limit is status 403 or 429, or status 200 with a GraphQL error; a
query that took too long is 502, or 200 with an error without a type; a truncated answer is not JSON.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from fusesearch.core.config import GitHubSource
from fusesearch.core.errors import DataError, FusesearchError, InfrastructureError

if TYPE_CHECKING:
    from github import GithubRetry

SECONDARY_SECONDS = 60.0
"""How long GitHub asks clients to wait after a secondary limit without ``Retry-After``."""

MAX_PAUSE_SECONDS = 120.0

_LIMITS = [403, 429]
_REPEATED = [*_LIMITS, 500, 503]
"""Statuses that PyGithub repeats. 502 and 504 may mean that a query is too heavy: they are for the client."""

_PARTIAL = {"NOT_FOUND", "FORBIDDEN"}
_OWN_FAULT = {"INVALID_CURSOR_ARGUMENTS", "MAX_NODE_LIMIT_EXCEEDED", "undefinedField", "argumentLiteralsIncompatible"}
_LIMITED = re.compile(r"rate limit (?:already )?exceeded|secondary rate limit", re.IGNORECASE)


class Failure(Exception):
    """Why a request has no answer, in one line."""


class Stopped(Failure):
    """The run ends early by its own limits and keeps all rows."""


class Gone(Failure):
    """The resource does not exist, or we may not see it."""


class Rejected(Failure):
    """GitHub does not accept the credentials."""


class Unanswered(Failure):
    """GitHub failed: the same request may succeed later."""


class Limited(Failure):
    """A rate limit. ``headers`` may say until when; without them the wait is ``seconds``."""

    def __init__(self, message: str, headers: Mapping[str, Any], seconds: float | None = None) -> None:
        super().__init__(message)
        self.headers, self.seconds = headers, seconds or SECONDARY_SECONDS


def retries_of(config: GitHubSource, failed: Callable[[], None], pause: Callable[[float], None]) -> GithubRetry:
    """PyGithub's retries. They end with :class:`Limited` at a rate limit, because another account may have points left.

    ``failed()`` is called for each failed request, ``pause(seconds)`` waits before the next one. The last failure is an
    :class:`InfrastructureError`.
    """
    from github import GithubRetry
    from urllib3.exceptions import MaxRetryError

    class Retries(GithubRetry):
        def increment(self, *arguments: Any, **named: Any) -> GithubRetry:  # type: ignore[override]
            limited = getattr(named.get("response"), "status", None) in _LIMITS
            if not limited:
                failed()
            try:  # a limit does not count as a try
                before = self.new(total=config.retries + 1) if limited else self
                return cast("GithubRetry", GithubRetry.increment(before, *arguments, **named))
            except MaxRetryError as error:
                reason = f"GitHub failed {len(self.history) + 1} times in a row ({_short(error.reason)})"
                raise InfrastructureError(f"{reason}: run the same command again") from None

        def get_backoff_time(self) -> float:
            pause = min(MAX_PAUSE_SECONDS, config.retry_seconds * 2 ** (len(self.history) - 1))
            return pause * random.uniform(0.5, 1.0)

        def sleep(self, response: Any = None) -> None:
            after = self.get_retry_after(response) if response is not None else None
            if response is not None and response.status in _LIMITS:
                raise Limited(f"status {response.status}", response.headers, after)
            pause(after or self.get_backoff_time())

    return Retries(total=config.retries, status_forcelist=_REPEATED)


def meaning(error: Exception) -> Exception:
    """The failure that an exception of PyGithub or a library below it stands for."""
    from github import GithubException

    if isinstance(error, Failure | FusesearchError):
        return error
    if not isinstance(error, GithubException):
        return Unanswered(f"{type(error).__name__}: {_short(error)}")
    headers = {key.lower(): value for key, value in (error.headers or {}).items()}
    message = _short(error.data.get("message") if isinstance(error.data, dict) else error.data) or "no reason given"
    summary = f"{error.status}, {message}"
    if error.status in _LIMITS and (_LIMITED.search(message) or str(headers.get("x-ratelimit-remaining")) == "0"):
        return Limited(summary, headers)
    if error.status == 401:
        return Rejected(summary)
    if error.status in {404, 410, 451}:
        return Gone(summary)
    if error.status >= 500 or error.status in {408, 425}:
        return Unanswered(summary)
    return DataError(f"GitHub rejects the request ({summary})")


def data_of(body: Any, headers: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a GraphQL answer with status 200, at least partly usable. Raises the failure if it is not."""
    if not isinstance(body, dict):
        raise Unanswered("the answer is not a JSON object")
    errors = [error for error in body.get("errors") or [] if isinstance(error, dict)]
    kinds = {str(error.get("type") or (error.get("extensions") or {}).get("code") or "") for error in errors}
    message = _short(errors[0].get("message")) if errors else ""
    if kinds & {"RATE_LIMIT", "RATE_LIMITED"} or any(_LIMITED.search(str(error.get("message"))) for error in errors):
        raise Limited(message, headers)
    if kinds & _OWN_FAULT:
        raise DataError(f"GitHub rejects the request ({message})")
    if kinds - _PARTIAL or not isinstance(body.get("data"), dict):
        raise Unanswered(message or "the answer has no data")
    data: dict[str, Any] = body["data"]
    return data


def _short(value: object) -> str:
    text = " ".join(str(value or "").split())
    return "".join(character for character in text if character.isprintable())[:200]
