"""How this copy was installed, and what it has installed beside itself."""

from __future__ import annotations

import json
import shlex
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

DISTRIBUTION = "fusesearch-code"
"""The name on the package registry; ``fusesearch`` is another project there."""


def how_to_install(extra: str) -> str:
    """The command that adds an extra of ``pyproject.toml`` to this copy.

    It names the checkout this copy runs from, else the address it was installed from (PEP 610), else the registry's name.
    """
    root = Path(__file__).resolve().parents[2]
    if (root / "pyproject.toml").is_file() and root.name not in ("site-packages", "dist-packages"):
        folder = "." if root == Path.cwd() else root
        return f"pip install -e {shlex.quote(f'{folder}[{extra}]')}"
    return f"pip install {shlex.quote(f'{DISTRIBUTION}[{extra}]{_address()}')}"


def _address() -> str:
    try:
        source = json.loads(distribution(DISTRIBUTION).read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        return ""
    if vcs := source.get("vcs_info"):
        return f" @ {vcs['vcs']}+{source['url']}@{vcs['commit_id']}"
    return f" @ {source['url']}" if source else ""


def installed(name: str) -> str | None:
    """Version of an installed distribution."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None
