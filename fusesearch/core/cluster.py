"""The Ray cluster whose machines share the work of a stage: ``FUSESEARCH_RAY`` has its address."""

from __future__ import annotations

import os
import socket
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fusesearch.core.errors import ConfigError, InfrastructureError
from fusesearch.core.installation import how_to_install


def cluster_address() -> str:
    """``local``, ``HOST:PORT`` or ``ray://HOST:PORT``; empty if no cluster is named.

    Raises :class:`ConfigError` if one is named and Ray is not installed, or it is no address; :class:`InfrastructureError` at
    once where nobody listens, which Ray would try for minutes.
    """
    address = os.environ.get("FUSESEARCH_RAY", "")
    if address and not find_spec("prefect_ray"):
        raise ConfigError(f"FUSESEARCH_RAY is set and Ray is not installed: {how_to_install('ray')}, or unset it")
    try:
        place = urlsplit(address if "://" in address else f"//{address}")
        if place.port is not None:
            socket.create_connection((place.hostname, place.port), timeout=10).close()
    except ValueError:
        raise ConfigError(f"FUSESEARCH_RAY is {address!r}: use local, HOST:PORT or ray://HOST:PORT") from None
    except OSError:
        raise InfrastructureError(f"the Ray cluster at {address} does not answer: start it, or unset FUSESEARCH_RAY") from None
    return address


def worker_options() -> dict[str, Any]:
    """What ``ray.init`` is told, so that workers find this project."""
    path = os.pathsep.join(filter(None, [str(Path.cwd()), os.environ.get("PYTHONPATH")]))
    environment = {"PYTHONPATH": path, "DO_NOT_TRACK": "true"}
    return {"runtime_env": {"env_vars": environment}, "logging_level": "warning"}
