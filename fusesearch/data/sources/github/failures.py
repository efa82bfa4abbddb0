"""Classify failed requests to GitHub by what to do next.

GitHub reports the same problem in several ways. A rate limit is status 403 or 429, or status 200 with a GraphQL error; a
query that took too long is 502, or 200 with an error without a type; a truncated answer is not JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

SECONDARY_SECONDS = 60.0
"""How long GitHub asks clients to wait after a secondary limit without ``Retry-After``."""

Kind = Literal["again", "limit", "pause", "credentials", "gone", "refused"]
"""``again``: a temporary failure; ``limit``: points are used up; ``pause``: a secondary limit; ``gone``: 404, 410, 451."""

_GONE = {404, 410, 451}
_PARTIAL = {"NOT_FOUND", "FORBIDDEN"}
_OWN_FAULT = {"INVALID_CURSOR_ARGUMENTS", "MAX_NODE_LIMIT_EXCEEDED", "undefinedField", "argumentLiteralsIncompatible"}


@dataclass(frozen=True)
class Failure:
    """Why a request failed. ``seconds`` is GitHub's requested wait, if any; ``message`` is one line."""

    kind: Kind
    message: str
    seconds: float = 0.0


def of_exception(error: Exception) -> Failure:
    """Classify an exception of PyGithub or a library below it."""
    from github import GithubException

    if isinstance(error, GithubException):
        return of_status(error.status, {key.lower(): value for key, value in (error.headers or {}).items()}, error.data)
    return Failure("again", f"{type(error).__name__}: {_short(error)}")


def of_status(status: int, headers: dict[str, Any], body: Any) -> Failure:
    """Classify an HTTP status."""
    message = _short(body.get("message") if isinstance(body, dict) else body) or "no reason given"
    summary = f"{status}, {message}"
    if status in {403, 429}:
        return _of_refusal(headers, message, summary, status)
    if status == 401:
        return Failure("credentials", summary)
    if status in _GONE:
        return Failure("gone", summary)
    if status >= 500 or status in {408, 425}:
        return Failure("again", summary)
    return Failure("refused", summary)


def _of_refusal(headers: dict[str, Any], message: str, summary: str, status: int) -> Failure:
    """A 403 may be either kind of limit, or a missing permission."""
    after = str(headers.get("retry-after", ""))
    if after.isdigit():
        return Failure("pause", summary, float(after))
    if str(headers.get("x-ratelimit-remaining", "")) == "0" or message.lower().startswith("api rate limit exceeded"):
        return Failure("limit", summary)
    if status == 429 or "secondary rate limit" in message.lower() or "try again" in message.lower():
        return Failure("pause", summary, SECONDARY_SECONDS)
    return Failure("refused", summary)


def of_graphql(body: Any) -> Failure | None:
    """Classify a GraphQL answer with status 200; None if its data is at least partly usable."""
    if not isinstance(body, dict):
        return Failure("again", "the answer is not a JSON object")
    errors = [error for error in body.get("errors") or [] if isinstance(error, dict)]
    kinds = {str(error.get("type") or (error.get("extensions") or {}).get("code") or "") for error in errors}
    message = _short(errors[0].get("message")) if errors else ""
    if "RATE_LIMITED" in kinds or any("rate limit exceeded" in str(error.get("message")).lower() for error in errors):
        return Failure("limit", message)
    if kinds & _OWN_FAULT:
        return Failure("refused", message)
    if kinds - _PARTIAL:
        return Failure("again", message)
    if not isinstance(body.get("data"), dict):
        return Failure("again", message or "the answer has no data")
    return None


def _short(value: object) -> str:
    text = " ".join(str(value or "").split())
    return "".join(character for character in text if character.isprintable())[:200]
