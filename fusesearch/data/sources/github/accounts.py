"""Credentials for GitHub: tokens or the installation of a GitHub App, each with its own rate limit.

Tokens come from the environment and go to PyGithub only; they are never logged, printed, stored or put into an address.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fusesearch.core.config import GitHubSource
from fusesearch.core.errors import ConfigError, DataError
from fusesearch.core.storage import read_text

if TYPE_CHECKING:
    from github import Auth, Github, GithubRetry

API = "https://api.github.com"
TIMEOUT_SECONDS = 60
_LOCAL = {"localhost", "127.0.0.1", "::1"}


@dataclass
class Account:
    """A client with its own credentials. ``name`` identifies it without revealing the token."""

    name: str
    client: Github
    remaining: dict[str, int] = field(default_factory=dict)
    resets: dict[str, float] = field(default_factory=dict)
    blocked_until: float = 0.0
    clock: Callable[[], float] = time.time

    def note(self, headers: Mapping[str, Any]) -> None:
        """Update the points left, and the time of their reset, from the headers of an answer."""
        resource = str(headers.get("x-ratelimit-resource") or "core")
        with suppress(KeyError, ValueError):
            self.remaining[resource] = int(float(headers["x-ratelimit-remaining"]))
            self.resets[resource] = float(headers["x-ratelimit-reset"]) + 1  # given in whole seconds

    def limit(self, headers: Mapping[str, Any], seconds: float, resource: str, points: int) -> None:
        """Keep still until the reset that ``headers`` name, or for so many seconds if they name none."""
        self.note(headers)
        if self.ready_in(resource, points) == 0:
            self.blocked_until = self.clock() + seconds

    def ready_in(self, resource: str, points: int) -> float:
        """Seconds until a request of this many points is allowed; 0 for now."""
        used_up = self.remaining.get(resource, points) < points
        return max(0.0, self.blocked_until - self.clock(), self.resets.get(resource, 0.0) - self.clock() if used_up else 0.0)


def accounts_of(config: GitHubSource, retry: GithubRetry | None = None) -> list[Account]:
    """The accounts of the params, whose clients repeat requests by ``retry``.

    Raises :class:`ConfigError` if there are none, or their use would be unsafe.
    """
    api = api_of(config)
    if config.app_id is not None:
        return [Account("app", _client(_app(config), api, retry))]
    tokens = [token for token in os.environ.get(config.token_env, "").replace(",", " ").split() if token]
    if not tokens:
        raise ConfigError(f"mine.github: set {config.token_env} to a token that can read public data (GraphQL needs one)")
    if any(not re.fullmatch(r"[\x21-\x7e]+", token) for token in tokens):
        raise ConfigError(f"mine.github: {config.token_env} contains a character that tokens never have")
    from github import Auth

    return [Account(f"token {number}", _client(Auth.Token(token), api, retry)) for number, token in enumerate(tokens, 1)]


def api_of(config: GitHubSource) -> str:
    """Address of the API without a final slash. Refuses http, except to this machine, to keep tokens encrypted."""
    api = (config.api_url or os.environ.get("GITHUB_API_URL", "").strip() or API).rstrip("/")
    parts = urlsplit(api)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOCAL):
        raise ConfigError(f"mine.github.api_url: {api} would send the token unencrypted: give an https address")
    if parts.username or parts.password:
        raise ConfigError("mine.github.api_url: leave name and password out of the address")
    return api


def _client(auth: Auth.Auth, api: str, retry: GithubRetry | None) -> Github:
    from github import Github

    pause = 0.0 if urlsplit(api).hostname in _LOCAL else 0.1
    return Github(
        auth=auth, base_url=api, timeout=TIMEOUT_SECONDS, retry=retry, per_page=100, lazy=True,
        seconds_between_requests=pause, seconds_between_writes=None, user_agent="fusesearch",
    )  # fmt: skip


def _app(config: GitHubSource) -> Auth.Auth:
    from github import Auth

    if config.app_id is None or config.app_installation is None or config.app_key is None:
        raise ConfigError("mine.github: an App needs app_id, app_installation and app_key")
    try:
        key = read_text(config.app_key)
    except DataError as error:
        raise ConfigError(f"mine.github.app_key: {error}") from None
    return Auth.AppAuth(config.app_id, key).get_installation_auth(config.app_installation)
