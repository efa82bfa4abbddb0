"""Send requests to GitHub: retry failures, wait for rate limits, count points and keep to the budget.

Sends one request at a time, as GitHub asks of its clients, from the account with the most points left.
"""

from __future__ import annotations

import json
import logging
import math
import random
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console

from fusesearch.core.config import GitHubSource
from fusesearch.core.errors import ConfigError, DataError, InfrastructureError
from fusesearch.data.sources.github import failures
from fusesearch.data.sources.github.accounts import Account
from fusesearch.data.sources.github.failures import Failure

log = logging.getLogger(__name__)

MIN_PAGE = 10
MAX_PAUSE_SECONDS = 120.0
LOG_SECONDS = 60.0

Wait = Callable[[float, str], None]
"""Waits so many seconds; the text says for what."""


def countdown(seconds: float, reason: str) -> None:
    """Wait, with a countdown on a terminal, else with a line in the log every minute."""
    end = time.monotonic() + seconds
    if seconds < 1:
        time.sleep(max(0.0, seconds))
    elif sys.stderr.isatty():
        with Console(stderr=True).status(reason) as status:
            while (remaining := end - time.monotonic()) > 0:
                status.update(f"{reason}: {clock(remaining)} left")
                time.sleep(min(1.0, remaining))
    else:
        while (remaining := end - time.monotonic()) > 0:
            log.warning("%s: %s left", reason, clock(remaining))
            time.sleep(min(LOG_SECONDS, remaining))


def clock(seconds: float) -> str:
    """``1:02:03`` or ``2:03``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Stopped(Exception):
    """The run ends early by its own limits and keeps all rows; the message says why."""


class Gone(Exception):
    """The resource does not exist, or we may not see it."""


@dataclass
class Spent:
    """What a run cost: GraphQL points, requests and failures."""

    points: int = 0
    graphql: int = 0
    rest: int = 0
    failed: int = 0
    waited: float = 0.0

    def as_dict(self) -> dict[str, float]:
        """For the table of the stage."""
        return {"points": self.points, "requests": self.graphql + self.rest, "graphql": self.graphql, "rest": self.rest,
                "failed": self.failed, "waited_seconds": round(self.waited, 1)}  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """Data of a GraphQL answer, and the page size used (reduced if the query was too heavy)."""

    data: dict[str, Any]
    first: int | None = None


@dataclass
class Api:
    """Sends requests until one succeeds or the run must end. Thread-safe."""

    accounts: list[Account]
    config: GitHubSource
    wait: Wait = countdown
    spent: Spent = field(default_factory=Spent)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _random: random.Random = field(default_factory=lambda: random.Random(0))

    def graphql(self, query: str, variables: dict[str, Any], cost: int) -> Answer:
        """Data of ``query``; missing objects are null.

        ``cost`` is its points by GitHub's formula. If the query keeps failing on GitHub's side, the variable ``first`` is
        halved, because a page that takes GitHub more than ten seconds fails every time.

        Raises :class:`Stopped` if budget or ``max_wait`` forbid it, :class:`InfrastructureError` after too many failures,
        :class:`DataError` if GitHub rejects the query.
        """
        sizes = [variables["first"]] if "first" in variables else []

        def ask(account: Account) -> tuple[dict[str, Any] | None, Failure | None]:
            sent = {**variables, "first": sizes[-1]} if sizes else variables
            budget = self.config.budget
            if budget is not None and self.spent.points + cost > budget:
                raise Stopped(f"the budget of {budget} points (mine.github.budget) does not allow {cost} more")
            self.spent.graphql += 1
            headers, body = _graphql(account, query, sent)
            account.note(headers)
            return body, self._counted(account, failures.of_graphql(body), body, cost)

        def heavy() -> None:
            if sizes and sizes[-1] > MIN_PAGE:
                sizes.append(max(MIN_PAGE, sizes[-1] // 2))

        body = self._until_answered("graphql", cost, ask, heavy)
        return Answer(body["data"], sizes[-1] if sizes else None)

    def rest(self, path: str, etag: str | None = None) -> tuple[Any, str | None]:
        """JSON of a GET and its ETag; ``(None, etag)`` if it has not changed, which costs no points.

        Raises :class:`Gone` for a missing resource.
        """

        def ask(account: Account) -> tuple[tuple[Any, str | None] | None, Failure | None]:
            self.spent.rest += 1
            sent = {"If-None-Match": etag} if etag else None
            status, headers, text = account.client.requester.requestJson("GET", path, headers=sent)
            account.note(headers)
            if status == 304:
                return (None, etag), None
            body = _json(text)
            if status != 200:
                return None, failures.of_status(status, headers, body)
            return ((body, headers.get("etag")), None) if body is not None else (None, Failure("again", "not JSON"))

        return self._until_answered("core", 1, ask)

    def _until_answered(
        self,
        resource: str,
        cost: int,
        ask: Callable[[Account], tuple[Any, Failure | None]],
        heavy: Callable[[], None] = lambda: None,
    ) -> Any:
        tries = 0
        with self._lock:
            while True:
                account = self._choose(resource, cost)
                try:
                    answer, failure = ask(account)
                except (ConfigError, Stopped):
                    raise
                except Exception as error:  # PyGithub, requests, urllib3 and json each raise their own
                    answer, failure = None, failures.of_exception(error)
                    account.note(getattr(error, "headers", None) or {})
                    self.spent.points += cost if resource == "graphql" and failure.kind == "again" else 0
                if failure is None:
                    return answer
                self.spent.failed += 1
                tries += self._handle(account, resource, failure, tries)
                if failure.kind == "again" and tries % 2 == 0:
                    heavy()

    def _handle(self, account: Account, resource: str, failure: Failure, tries: int) -> int:
        """React to a failure; returns 1 if it counts as a try."""
        log.debug("%s: %s: %s", account.name, failure.kind, failure.message)
        match failure.kind:
            case "limit":
                account.used_up(resource)
                return 0
            case "pause":
                account.block(failure.seconds)
                return 0
            case "credentials":
                self._refuse(account, failure)
                return 0
            case "gone":
                raise Gone(failure.message)
            case "refused":
                raise DataError(f"GitHub rejects the request ({failure.message})")
        if tries >= self.config.retries:
            raise InfrastructureError(f"GitHub failed {tries + 1} times in a row ({failure.message}): run the same command again")
        pause = min(MAX_PAUSE_SECONDS, self.config.retry_seconds * 2**tries) * self._random.uniform(0.5, 1.0)
        self._wait(pause, "GitHub failed, trying again")
        return 1

    def _refuse(self, account: Account, failure: Failure) -> None:
        account.refused = True
        if all(other.refused for other in self.accounts):
            raise ConfigError(f"mine.github: GitHub does not accept the credentials ({failure.message})")
        log.warning("GitHub does not accept %s: continuing without it", account.name)

    def _choose(self, resource: str, cost: int) -> Account:
        """The usable account with the most points; waits until there is one."""
        while True:
            usable = [account for account in self.accounts if not account.refused]
            ready = [account for account in usable if account.ready_in(resource, cost) == 0]
            if ready:
                return max(ready, key=lambda account: account.remaining.get(resource, math.inf))
            seconds = min(account.ready_in(resource, cost) for account in usable)
            if seconds > self.config.max_wait:
                raise Stopped(f"GitHub's rate limit needs a wait of {seconds:.0f} s, longer than mine.github.max_wait")
            self._wait(seconds, "waiting for GitHub's rate limit")

    def _wait(self, seconds: float, reason: str) -> None:
        started = time.monotonic()
        self.wait(seconds, reason)
        self.spent.waited += time.monotonic() - started

    def _counted(self, account: Account, failure: Failure | None, body: Any, cost: int) -> Failure | None:
        """Count the points that GitHub reports, or the full cost if it reports none."""
        if failure and failure.kind == "limit":
            return failure
        limit = ((body.get("data") or {}).get("rateLimit") or {}) if isinstance(body, dict) and not failure else {}
        self.spent.points += int(limit.get("cost", cost))
        if "remaining" in limit:
            account.remaining["graphql"] = int(limit["remaining"])
        return failure


def _graphql(account: Account, query: str, variables: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Headers and body, also of an answer with errors, which PyGithub raises."""
    from github import GithubException

    try:
        return account.client.requester.graphql_query(query, variables)
    except GithubException as error:
        if error.status in {400, 404} and isinstance(error.data, dict) and "errors" in error.data:
            return error.headers or {}, error.data
        raise


def _json(text: Any) -> Any:
    try:
        return json.loads(text)
    except (ValueError, TypeError):
        return None
