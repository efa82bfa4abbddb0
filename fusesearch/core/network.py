"""What the environment says of the network: the proxies and certificates that requests depend on, for messages about them."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from fusesearch.core.errors import ConfigError, one_line

_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def network_note(error: BaseException, url: str = "") -> str:
    """The variables that ``error``, of a request to ``url`` or of any, may depend on: ``; ALL_PROXY is socks5://host``."""
    from urllib.request import getproxies_environment, proxy_bypass  # imports half of the standard library

    scheme, host = re.sub("//.*", "", url), re.sub(r"^\w*://|[:/].*", "", re.sub("//.*@", "//", url))
    direct = bool(host and proxy_bypass(host))
    proxies = (
        {} if direct else {kind: value for kind, value in getproxies_environment().items() if kind in ("all", "http", "https")}
    )
    notes = [f"{kind.upper()}_PROXY is {re.sub('//.*@', '//', value)}" for kind, value in proxies.items()]
    suspected = isinstance(error, OSError) or "certificate" in str(error).lower()
    for name in _CERTIFICATES if scheme != "http:" else ():
        path = os.environ.get(name, "")
        missing = not os.path.exists(path)
        if path and (missing or suspected):
            notes.append(f"{name} is {path}{', which does not exist' if missing else ''}")
    return "".join(f"; {note}" for note in notes)


def key_for_header(key: str, name: str) -> str:
    """A key without blanks around it. Raises :class:`ConfigError` if no header can hold it; ``name`` says which it is."""
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"{name} has a character that no key has: copy it again")
    return key


def retry_after(header: str) -> float | None:
    """Seconds that a Retry-After header, a number or a date, asks to wait; None if it is missing or invalid."""
    from email.utils import parsedate_to_datetime

    with suppress(ValueError):
        return max(0.0, float(header))
    with suppress(ValueError, TypeError, IndexError):
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    return None


@contextmanager
def making_client(url: str) -> Iterator[None]:
    """Raises :class:`ConfigError` for what fails while a client of ``url`` is made, for which libraries read the environment."""
    try:
        yield
    except ModuleNotFoundError:  # of an extra that is not installed
        raise
    except Exception as error:
        raise ConfigError(f"{url} cannot be asked ({one_line(error)}{network_note(error)})") from None
