"""Fetch an issue from GitHub by its address: ``https://github.com/OWNER/REPO/issues/N`` or ``OWNER/REPO#N``."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fusesearch.core.errors import ConfigError, DataError, FusesearchError, InfrastructureError
from fusesearch.core.network import key_for_header, network_note

if TYPE_CHECKING:
    from httpx2 import Response

API = "https://api.github.com"
FORM = "https://github.com/OWNER/REPO/issues/N"
TIMEOUT_SECONDS = 20

_NAME = r"(?P<owner>[A-Za-z0-9][\w-]{0,99})/(?P<repo>(?!\.{1,2}[/#])[\w.-]{1,100})"
_SHORT = re.compile(rf"{_NAME}#(?P<number>[1-9]\d{{0,9}})", re.ASCII)
_PATH = re.compile(rf"/{_NAME}/(?P<kind>issues|pull)/(?P<number>[1-9]\d{{0,9}})(?:/.*)?", re.ASCII)


@dataclass(frozen=True)
class Address:
    """The address of an issue. ``host`` is None for the short form ``OWNER/REPO#N``."""

    owner: str
    repo: str
    number: int
    host: str | None = None

    def __str__(self) -> str:
        return f"{self.owner}/{self.repo}#{self.number}"

    @property
    def instance_id(self) -> str:
        """SWE-bench's form, ``owner__repo-N``."""
        return f"{self.owner}__{self.repo}-{self.number}"


def address_of(text: str) -> Address | None:
    """Parse an address; None if ``text`` does not look like one.

    Raises :class:`DataError` for the address of a pull request or of anything else on the web.
    """
    text = text.strip()
    if short := _SHORT.fullmatch(text):
        return Address(short["owner"], short["repo"], int(short["number"]))
    if not text.lower().startswith(("http://", "https://")):
        return None
    try:
        parts = urlsplit(text)
        host, found = parts.hostname, _PATH.fullmatch(parts.path)
    except ValueError:
        host, found = None, None
    if found is None or not host:
        raise DataError(f"{text} is not the address of an issue: that would be {FORM}, or OWNER/REPO#N")
    address = Address(found["owner"], found["repo"], int(found["number"]), host)
    if found["kind"] == "pull":
        raise _pull_request(address)
    return address


def fetch(address: Address) -> str:
    """Fetch the title and body of an issue, with ``GITHUB_API_URL`` and ``GITHUB_TOKEN`` if set.

    Raises :class:`ConfigError` for a bad token or API address, :class:`DataError` if the issue does not exist or GitHub does
    not show it, :class:`InfrastructureError` when GitHub cannot be reached.
    """
    import httpx2

    api = _api_of(address)
    token = key_for_header(os.environ.get("GITHUB_TOKEN", ""), "GITHUB_TOKEN")
    headers = {"Accept": "application/vnd.github+json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    url = f"{api}/repos/{address.owner}/{address.repo}/issues/{address.number}"
    try:
        response = httpx2.get(url, headers=headers, timeout=TIMEOUT_SECONDS, follow_redirects=True)
    except Exception as error:  # httpx2's own, and what proxies and certificates of the environment make it raise
        reason = f"{error}{network_note(error, api if isinstance(error, httpx2.HTTPError) else '')}"
        raise InfrastructureError(f"{api} cannot be reached ({reason}): save the issue in a file instead") from None
    if not response.is_success:
        raise _refusal(response, address, bool(token))
    try:
        issue = response.json()
        title, body = issue["title"], issue["body"] or ""
    except (ValueError, TypeError, KeyError):
        raise ConfigError(
            f"{api} does not answer as GitHub's API does: correct GITHUB_API_URL, or log in to the network"
        ) from None
    if "pull_request" in issue:
        raise _pull_request(address)
    return f"{title}\n\n{body}".replace("\r\n", "\n").strip() + "\n"


def _api_of(address: Address) -> str:
    """The API for the address. Refuses foreign hosts, so that a link cannot send the token there."""
    api = os.environ.get("GITHUB_API_URL", "").strip().rstrip("/") or API
    if not api.startswith(("http://", "https://")) or not (host := urlsplit(api).hostname):
        raise ConfigError(f"GITHUB_API_URL must be an address such as {API}, not {api}")
    if address.host not in {None, "github.com", "www.github.com", host, host.removeprefix("api.")}:
        raise ConfigError(f"{address.host} is not github.com: set GITHUB_API_URL to its API, as https://{address.host}/api/v3")
    return api


def _refusal(response: Response, address: Address, has_token: bool) -> FusesearchError:
    """The error for a status of GitHub's API."""
    status = response.status_code
    try:
        message = str(response.json()["message"])
    except (ValueError, TypeError, KeyError):
        message = response.text
    message = " ".join(message.split())[:200]
    if status == 401:
        advice = "does not accept GITHUB_TOKEN: correct or unset it" if has_token else "needs a token: set GITHUB_TOKEN"
        return ConfigError(f"GitHub {advice}")
    if status == 404:
        advice = "GITHUB_TOKEN may not read it" if has_token else "GITHUB_TOKEN is not set"
        return DataError(f"issue {address} does not exist, or it is private and {advice}")
    if status in (403, 410, 429):  # the message says whether a limit is used up
        return DataError(
            f"GitHub does not show {address} ({message}){'' if has_token else ': GITHUB_TOKEN may raise its limits'}"
        )
    return InfrastructureError(f"GitHub answered {status} for {address}: try again, or save the issue in a file")


def _pull_request(address: Address) -> DataError:
    return DataError(
        f"{address} is a pull request: give the issue it closes, as {address.owner}/{address.repo}#N, or a text file"
    )
