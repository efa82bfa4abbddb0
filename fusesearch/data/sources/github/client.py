"""Send requests to GitHub by PyGithub: choose an account, wait for rate limits, count points and keep to the budget.

Sends one request at a time, as GitHub asks of its clients, from the account with the most points left.
"""

from __future__ import annotations

import logging
import math
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar

from rich.console import Console

from fusesearch.core.config import GitHubSource
from fusesearch.core.errors import ConfigError
from fusesearch.data.sources.github.accounts import Account, accounts_of
from fusesearch.data.sources.github.failures import Limited, Rejected, Stopped, Unanswered, data_of, meaning, retries_of

log = logging.getLogger(__name__)

T = TypeVar("T")
MIN_PAGE = 10
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
                status.update(f"{reason}: {timedelta(seconds=round(remaining))} left")
                time.sleep(min(1.0, remaining))
    else:
        while (remaining := end - time.monotonic()) > 0:
            log.warning("%s: %s left", reason, timedelta(seconds=round(remaining)))
            time.sleep(min(LOG_SECONDS, remaining))


@dataclass
class Spent:
    """The cost of a run: GraphQL points, answers of both interfaces, failures and waits."""

    points: int = 0
    graphql: int = 0
    rest: int = 0
    failed: int = 0
    waited: float = 0.0

    def as_dict(self) -> dict[str, float]:
        """For the table of the stage."""
        return {"points": self.points, "requests": self.graphql + self.rest + self.failed, "graphql": self.graphql,
                "rest": self.rest, "failed": self.failed, "waited_seconds": round(self.waited, 1)}  # fmt: skip


class Answer(NamedTuple):
    """Data of a GraphQL answer, and the page size used (reduced if the query was too heavy)."""

    data: dict[str, Any]
    first: int | None = None


@dataclass
class Api:
    """Sends requests until one succeeds or the run must end. Thread-safe."""

    config: GitHubSource
    wait: Wait = countdown
    spent: Spent = field(default_factory=Spent)

    def __post_init__(self) -> None:
        self._lock = threading.RLock()
        self._cost = 0
        self._retries = retries_of(self.config, self._failed, lambda seconds: self._pause(seconds, "GitHub failed, trying again"))
        self.accounts = accounts_of(self.config, self._retries)

    def graphql(self, query: str, variables: dict[str, Any], cost: int) -> Answer:
        """Data of ``query``; missing objects are null.

        ``cost`` is its points by GitHub's formula. If the query keeps failing on GitHub's side, the variable ``first`` is
        halved, because a page that takes GitHub more than ten seconds fails every time.

        Raises :class:`Stopped` if budget or ``max_wait`` forbid it, :class:`InfrastructureError` after too many failures,
        :class:`DataError` if GitHub rejects the query.
        """
        from github import GithubException

        sent = dict(variables)

        def ask(account: Account) -> dict[str, Any]:
            try:
                headers, body = account.client.requester.graphql_query(query, sent)
            except GithubException as error:  # also raised for data with errors, which may be partly usable
                if not isinstance(error.data, dict) or "errors" not in error.data:
                    raise
                headers, body = error.headers or {}, error.data
            account.note(headers)
            data = data_of(body, headers)
            self.spent.graphql += 1
            self.spent.points += int((data.get("rateLimit") or {}).get("cost", cost))
            return data

        def smaller() -> None:
            if sent.get("first", 0) > MIN_PAGE:
                sent["first"] = max(MIN_PAGE, sent["first"] // 2)

        return Answer(self._answer("graphql", cost, ask, smaller), sent.get("first"))

    def etag(self, path: str, known: str | None) -> str | None:
        """The ETag of a REST listing: ``known`` if the listing has not changed, which costs no points.

        Raises :class:`Gone` for a missing resource.
        """

        def ask(account: Account) -> str | None:
            sent = {"If-None-Match": known} if known else None
            headers, rows = account.client.requester.requestJsonAndCheck("GET", path, headers=sent)
            account.note(headers)
            unchanged = rows is None and known is not None and "etag" in headers
            if not unchanged and not isinstance(rows, list):
                raise Unanswered("the answer is not a list")
            self.spent.rest += 1
            return known if unchanged else headers.get("etag")

        return self._answer("core", 1, ask)

    def _answer(self, resource: str, cost: int, ask: Callable[[Account], T], smaller: Callable[[], None] = lambda: None) -> T:
        """The answer of ``ask``, which is repeated with other accounts, after waits, and after ``smaller()``."""
        with self._lock:
            retries: Any = self._retries
            self._cost = cost if resource == "graphql" else 0
            while True:
                self._keep_to_budget()
                account = self._choose(resource, cost)
                try:
                    return ask(account)
                except Exception as error:  # PyGithub, requests, urllib3 and json each raise their own
                    failure = meaning(error)
                log.debug("%s: %r", account.name, failure)
                self.spent.failed += not isinstance(failure, Unanswered)  # PyGithub's retries count those
                match failure:
                    case Unanswered():
                        retries = retries.increment(error=failure)
                        if len(retries.history) % 2 == 0:
                            smaller()
                        retries.sleep()
                    case Limited():
                        account.limit(failure.headers, failure.seconds, resource, cost)
                    case Rejected():
                        if len(self.accounts) == 1:
                            raise ConfigError(f"mine.github: GitHub does not accept the credentials ({failure})")
                        log.warning("GitHub does not accept %s: continuing without it", account.name)
                        self.accounts.remove(account)
                    case _:
                        raise failure from None

    def _failed(self) -> None:
        """Count a failed request, which may have cost its points all the same."""
        self.spent.failed += 1
        self.spent.points += self._cost
        self._keep_to_budget()

    def _keep_to_budget(self) -> None:
        budget = self.config.budget
        if budget is not None and self._cost and self.spent.points + self._cost > budget:
            raise Stopped(f"the budget of {budget} points (mine.github.budget) does not allow {self._cost} more")

    def _choose(self, resource: str, cost: int) -> Account:
        """The account with the most points of those that are ready first; waits until it is ready."""
        while True:
            ready = {account.name: account.ready_in(resource, cost) for account in self.accounts}
            account = min(self.accounts, key=lambda one: (ready[one.name], -one.remaining.get(resource, math.inf)))
            seconds = ready[account.name]
            if seconds == 0:
                return account
            if seconds > self.config.max_wait:
                raise Stopped(f"GitHub's rate limit needs a wait of {seconds:.0f} s, longer than mine.github.max_wait")
            self._pause(seconds, "waiting for GitHub's rate limit")

    def _pause(self, seconds: float, reason: str) -> None:
        started = time.monotonic()
        self.wait(seconds, reason)
        self.spent.waited += time.monotonic() - started
