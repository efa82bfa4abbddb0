"""The extras of ``pyproject.toml``: which command needs which, and what to install when a package is missing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, requires

from fusesearch.core.installation import DISTRIBUTION, how_to_install, installed

PARTS = ("models", "train", "evaluate", "pipeline", "mining")
"""The extras that users choose from; the others are for GPUs, teams and developers."""

NEEDS = {
    "localize": "",
    "localize --localizer bm25": "models",
    "localize --localizer locagent": "models",
    "localize --localizer swerank-embed": "train",
    "localize --model": "models",
    "localize --checkpoint": "train",
    "context": "",
    "ask --model": "models",
    "ask --checkpoint": "train",
    "localizers": "",
    "view": "",
    "mcp": "",
    "install": "",
    "mcp --model": "models",
    "mcp --checkpoint": "train",
    "tool": "",
    "truth": "",
    "score": "",
    "evaluate": "evaluate",
    "compare": "evaluate",
    "judge": "models",
    "doctor": "",
    "doctor --profile": "",
    "python -m flows experiment": "pipeline",
    "python -m flows track": "pipeline",
    "python -m flows.run": "pipeline",
    "python -m dashboards": "pipeline",
}
"""The extra that has all a command needs, with an option that changes it; empty for none. Stages that train need `train`, too."""

DISTRIBUTIONS = {
    "github": "PyGithub",
    "sentence_transformers": "sentence-transformers",
    "sklearn": "scikit-learn",
    "vl_convert": "vl-convert-python",
    "psycopg2": "psycopg2-binary",
}
"""Distribution of a module, where the names differ."""


def what_to_install(error: ModuleNotFoundError, words: Sequence[str] = ()) -> str | None:
    """One line saying how to install what the command line ``words`` misses; None if no extra brings it, so another fault."""
    module = (error.name or "").partition(".")[0]
    name = DISTRIBUTIONS.get(module, module).lower()
    needed = [extra for row, extra in NEEDS.items() if words and row.split()[0] == words[0] and set(row.split()) <= set(words)]
    extra = next((extra for extra in (*reversed(needed), *PARTS) if extra and name in listed(extra)), None)
    return f"this needs {module}, which is not installed: {how_to_install(extra)}" if extra else None


def listed(extra: str) -> list[str]:
    """Distributions that the extra brings, in lower case, with those of extras it includes."""
    try:
        requirements = requires(DISTRIBUTION) or []
    except PackageNotFoundError:  # a checkout that was never installed
        return []
    found = [re.match(r"""([\w.-]+)(?:\[([\w,-]+)\])?.*;.*extra == ['"]([\w-]+)['"]""", line) for line in requirements]
    rows = [(match[1].lower(), match[2]) for match in found if match and match[3] == extra]
    included = [other for name, others in rows if name == DISTRIBUTION for other in others.split(",")]
    own = [name for name, _ in rows if name != DISTRIBUTION]
    return list(dict.fromkeys([*own, *(name for other in included for name in listed(other))]))


def missing(extra: str) -> list[str]:
    """Distributions of the extra that are not installed."""
    return [name for name in listed(extra) if installed(name) is None]
