"""What failed requests to GitHub mean.

GitHub reports the same problem in several ways. A rate limit is status 403 or 429, or status 200 with a GraphQL error; a
query that took too long is 502, or 200 with an error without a type; a truncated answer is not JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from fusesearch.core.errors import ConfigError, DataError, FusesearchError
from fusesearch.core.network import retry_after

SECONDARY_SECONDS = 60.0
"""How long GitHub asks clients to wait after a secondary limit without ``Retry-After``."""

_PARTIAL = {"NOT_FOUND", "FORBIDDEN"}
_OWN_FAULT = {"INVALID_CURSOR_ARGUMENTS", "MAX_NODE_LIMIT_EXCEEDED", "undefinedField", "argumentLiteralsIncompatible"}
_LIMITED = re.compile(r"rate limit (?:already )?exceeded|secondary rate limit", re.IGNORECASE)


class Failure(Exception):
    """Why a request has no answer, in one line."""


class Stopped(Failure):
    """The run ends early by its own limits and keeps all rows."""


class Gone(Failure):
    """The resource does not exist, or we may not see it."""


class Unanswered(Failure):
    """GitHub failed: the same request may succeed later."""


class Limited(Failure):
    """A rate limit. ``headers`` say until when, if GitHub names a time."""

    def __init__(self, message: str, headers: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.headers = headers

    def seconds(self, now: float) -> float:
        """How long to wait: as the headers ask, until the reset if nothing is left, else :data:`SECONDARY_SECONDS`."""
        if (asked := retry_after(str(self.headers.get("retry-after", "")))) is not None:
            return asked
        with suppress(KeyError, ValueError):
            if float(self.headers["x-ratelimit-remaining"]) == 0:
                return max(0.0, float(self.headers["x-ratelimit-reset"]) + 1 - now)  # given in whole seconds
        return SECONDARY_SECONDS


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
    limited = _LIMITED.search(message) or str(headers.get("x-ratelimit-remaining")) == "0" or "retry-after" in headers
    if error.status == 429 or (error.status == 403 and limited):
        return Limited(summary, headers)
    if error.status == 401:
        return ConfigError(f"mine.github: GitHub does not accept the credentials ({summary})")
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
