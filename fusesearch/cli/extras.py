"""The extras of ``pyproject.toml``: which one to install when a command misses a package."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires, version

NEEDED_BY = {
    "evaluate": "evaluate",
    "compare": "evaluate",
    "import-predictions": "evaluate",
    "import-questions": "evaluate",
    "experiment": "pipeline",
}
"""Extra that a command needs, where the first missing package belongs to a smaller one."""

DISTRIBUTIONS = {
    "github": "PyGithub",
    "sklearn": "scikit-learn",
    "vl_convert": "vl-convert-python",
    "psycopg2": "psycopg2-binary",
}
"""Distribution of a module, where the names differ."""

PARTS = ("models", "train", "evaluate", "pipeline", "mining", "dashboard")
"""The extras that users choose from; the others are for GPUs, teams and developers."""


def how_to_install(error: ModuleNotFoundError, command: str = "") -> str | None:
    """One line saying how to install the missing module; None if it belongs to no extra, so that something else is wrong."""
    module = (error.name or "").partition(".")[0]
    name = DISTRIBUTIONS.get(module, module).lower()
    extra = next((extra for extra in PARTS if name in listed(extra)), None)
    if extra is None:
        return None
    return f"this needs {module}, which is not installed: pip install 'fusesearch[{NEEDED_BY.get(command, extra)}]'"


def listed(extra: str) -> list[str]:
    """Distributions that the extra lists itself, in lower case, without those of extras it includes."""
    try:
        requirements = requires("fusesearch") or []
    except PackageNotFoundError:  # a checkout that was never installed
        return []
    found = [re.match(r"""([\w.-]+)(\[.*)?.*;.*extra == ['"]([\w-]+)['"]""", requirement) for requirement in requirements]
    return [match[1].lower() for match in found if match and match[3] == extra and match[1] != "fusesearch"]


def missing(extra: str) -> list[str]:
    """Distributions of the extra that are not installed."""
    return [name for name in listed(extra) if installed(name) is None]


def installed(name: str) -> str | None:
    """Version of an installed distribution."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None
