"""Send requests to GitHub by PyGithub: try failed ones again, wait for rate limits, count points and keep to the budget.

Sends one request at a time, as GitHub asks of its clients. The credentials, a token or those of an App, come from the environment
and go to PyGithub only; they are never logged, printed, stored or put into an address.
"""

from __future__ import annotations

import logging
import os
import random
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fusesearch.core.errors import ConfigError, DataError, InfrastructureError
from fusesearch.core.storage import read_text
from fusesearch.data.sources.github.failures import Limited, Stopped, Unanswered, data_of, meaning

if TYPE_CHECKING:
    from github import Auth

log = logging.getLogger(__name__)

API = "https://api.github.com"
TOKEN = "GITHUB_TOKEN"  # noqa: S105 - the name of a variable
APP = ("GITHUB_APP_ID", "GITHUB_APP_INSTALLATION_ID", "GITHUB_APP_KEY")
"""Environment variables of a GitHub App: its id, that of its installation, and the file with its private key."""
TIMEOUT_SECONDS = 60
TRIES = 11
"""How often a request is sent that GitHub does not answer. Waits for rate limits do not count."""
PAUSE_SECONDS, MAX_PAUSE_SECONDS = 1.0, 120.0
"""Pause after a failed request, doubled with each failure, and the longest one."""
MAX_WAIT_SECONDS = 3700.0
"""A rate limit that lasts longer ends the run, which keeps its rows. Points come back every hour."""
BUDGET = 50_000
"""Most GraphQL points of a run: ten hours of one token. The next run goes on."""
_LOCAL = {"localhost", "127.0.0.1", "::1"}
LOG_SECONDS = 60.0

Wait = Callable[[float, str], None]
"""Waits so many seconds; the text says for what."""


def logged_wait(seconds: float, reason: str) -> None:
    """Wait, with a line in the log every minute."""
    end = time.monotonic() + seconds
    while (remaining := end - time.monotonic()) > 0:
        log.log(logging.WARNING if seconds >= 1 else logging.DEBUG, "%s: %s left", reason, timedelta(seconds=round(remaining)))
        time.sleep(min(LOG_SECONDS, remaining))


@dataclass
class Spent:
    """The cost of a run: points, answers, failures and waits."""

    points: int = 0
    answered: int = 0
    failed: int = 0
    waited: float = 0.0

    def as_dict(self) -> dict[str, float]:
        """For the table of the stage."""
        requests = self.answered + self.failed
        return {"points": self.points, "requests": requests, "failed": self.failed, "waited_seconds": round(self.waited, 1)}


def api_of() -> str:
    """Address of the API without a final slash: that of ``GITHUB_API_URL``, or GitHub's own.

    Refuses http, except to this machine, to keep tokens encrypted.
    """
    api = (os.environ.get("GITHUB_API_URL", "").strip() or API).rstrip("/")
    parts = urlsplit(api)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOCAL):
        raise ConfigError(f"GITHUB_API_URL: {api} would send the token unencrypted: give an https address")
    if parts.username or parts.password:
        raise ConfigError("GITHUB_API_URL: leave name and password out of the address")
    return api


def credentials() -> Auth.Auth:
    """Those of the App in :data:`APP`, else the token. Raises :class:`ConfigError` without any, and for a malformed one."""
    from github import Auth

    number, installation, key = (os.environ.get(name, "") for name in APP)
    if number or installation or key:
        if not (number.isdecimal() and installation.isdecimal() and key):
            raise ConfigError(f"mine.github: an App needs numbers in {APP[0]} and {APP[1]}, and a file in {APP[2]}")
        try:
            return Auth.AppAuth(int(number), read_text(Path(key))).get_installation_auth(int(installation))
        except DataError as error:
            raise ConfigError(f"mine.github: {APP[2]}: {error}") from None
    token = os.environ.get(TOKEN, "").strip()
    if not token:
        raise ConfigError(f"mine.github: set {TOKEN} to a token that can read public data (GraphQL needs one)")
    if not re.fullmatch(r"[\x21-\x7e]+", token):
        raise ConfigError(f"mine.github: {TOKEN} contains a character that tokens never have")
    return Auth.Token(token)


@dataclass
class Api:
    """Sends requests until one succeeds or the run must end. Thread-safe."""

    wait: Wait = logged_wait
    spent: Spent = field(default_factory=Spent)
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        from github import Github

        self._lock = threading.RLock()
        api = api_of()
        pause = 0.0 if urlsplit(api).hostname in _LOCAL else 0.1
        self._client = Github(
            auth=credentials(), base_url=api, timeout=TIMEOUT_SECONDS, retry=None, per_page=100, lazy=True,
            seconds_between_requests=pause, seconds_between_writes=None, user_agent="fusesearch",
        )  # fmt: skip

    def graphql(self, query: str, variables: dict[str, Any], cost: int) -> dict[str, Any]:
        """Data of ``query``; missing objects are null.

        ``cost`` is its points by GitHub's formula. Raises :class:`Stopped` if budget or longest wait forbid it,
        :class:`InfrastructureError` after too many failures, :class:`DataError` if GitHub rejects the query.
        """
        from github import GithubException

        def ask() -> dict[str, Any]:
            try:
                headers, body = self._client.requester.graphql_query(query, variables)
            except GithubException as error:  # also raised for data with errors, which may be partly usable
                if not isinstance(error.data, dict) or "errors" not in error.data:
                    raise
                headers, body = error.headers or {}, error.data
            data = data_of(body, headers)
            self.spent.answered += 1
            self.spent.points += int((data.get("rateLimit") or {}).get("cost", cost))
            return data

        return self._answer(ask, cost)

    def _answer(self, ask: Callable[[], dict[str, Any]], cost: int) -> dict[str, Any]:
        """The answer of ``ask``, tried again after failures and rate limits. A failure may have cost its points all the same."""
        failures = 0
        with self._lock:
            while True:
                if self.spent.points + cost > BUDGET:
                    raise Stopped(f"the budget of {BUDGET:,} points a run does not allow {cost} more")
                try:
                    return ask()
                except Exception as error:  # PyGithub, requests, urllib3 and json each raise their own
                    failure = meaning(error)
                log.debug("GitHub: %r", failure)
                self.spent.failed += 1
                match failure:
                    case Unanswered():
                        failures += 1
                        self.spent.points += cost
                        if failures == TRIES:
                            said = f"GitHub failed {failures} times in a row ({failure})"
                            raise InfrastructureError(f"{said}: run the same command again")
                        pause = min(MAX_PAUSE_SECONDS, PAUSE_SECONDS * 2 ** (failures - 1))
                        self._pause(pause * random.uniform(0.5, 1.0), "GitHub failed, trying again")
                    case Limited():
                        seconds = failure.seconds(self.clock())
                        if seconds > MAX_WAIT_SECONDS:
                            raise Stopped(
                                f"GitHub's rate limit needs a wait of {seconds:.0f} s, longer than {MAX_WAIT_SECONDS:.0f}"
                            )
                        self._pause(seconds, "waiting for GitHub's rate limit")
                    case _:
                        raise failure from None

    def _pause(self, seconds: float, reason: str) -> None:
        started = time.monotonic()
        self.wait(seconds, reason)
        self.spent.waited += time.monotonic() - started
