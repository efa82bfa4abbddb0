"""What the environment says of the network: the proxies and certificates that requests depend on, for messages about them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from fusesearch.core.errors import ConfigError, one_line

_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def network_note(url: str = "") -> str:
    """The variables that requests to ``url``, or to any, depend on: ``; ALL_PROXY is socks5://host``. Empty if none is set."""
    from urllib.request import getproxies_environment, proxy_bypass  # imports half of the standard library

    scheme, host = re.sub("//.*", "", url), re.sub(r"^\w*://|[:/].*", "", re.sub("//.*@", "//", url))
    direct = bool(host and proxy_bypass(host))
    proxies = (
        {} if direct else {kind: value for kind, value in getproxies_environment().items() if kind in ("all", "http", "https")}
    )
    notes = [f"{kind.upper()}_PROXY is {re.sub('//.*@', '//', value)}" for kind, value in proxies.items()]
    for name in _CERTIFICATES if scheme != "http:" else ():
        if path := os.environ.get(name):
            notes.append(f"{name} is {path}{'' if os.path.exists(path) else ', which does not exist'}")
    return "".join(f"; {note}" for note in notes)


@contextmanager
def making_client(url: str) -> Iterator[None]:
    """Raises :class:`ConfigError` for what fails while a client of ``url`` is made, for which libraries read the environment."""
    try:
        yield
    except ModuleNotFoundError:  # of an extra that is not installed
        raise
    except Exception as error:
        raise ConfigError(f"{url} cannot be asked ({one_line(error)}{network_note()})") from None
