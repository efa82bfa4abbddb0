"""What a profile needs of a machine, and what is missing of it here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tasks.cli.checks import Check, cores, disk, gpus, has_checkpoint
from tasks.cli.extras import installed
from tasks.core.config import Params


@dataclass(frozen=True)
class Need:
    """GPUs with at least so many GB each, and GB of free disk. ``source`` says where the figures come from."""

    gpus: int
    gpu_gb: float
    disk_gb: float
    source: str


NEEDS = {
    "nano": Need(0, 0, 8, "planned for 2 cores without a GPU"),
    "small": Need(1, 40, 40, "an estimate: full fine-tuning of 0.6 B parameters beside vLLM"),
    "paper-4b": Need(32, 96, 500, "FuseSearch B.2 and B.3: 8 GPUs of 96 GB for SFT, 32 for GRPO; disk is an estimate"),
    "paper-30b": Need(32, 96, 1000, "FuseSearch B.2 and B.3: 8 GPUs of 96 GB for SFT, 32 for GRPO; disk is an estimate"),
}


def profile_checks(params: Params, root: Path) -> Iterator[Check]:
    """Check this machine against a profile; what its params imply comes after what its scale needs."""
    need = NEEDS.get(params.profile)
    if need:
        yield _gpus(need)
        yield disk(root, need.disk_gb)
    yield Check("cores", cores() >= 2, f"{cores()}", "2 or more")
    base = params.model.base
    local = has_checkpoint(root, base)
    hint = "make base" if params.profile == "nano" else f"download it once: hf download {base}"
    yield Check("base checkpoint", local, base if local else f"{base} is not on this machine", hint)
    if "vllm" in (params.grpo.rollouts, params.grpo_from_base.rollouts):
        version = installed("vllm")
        yield Check("vllm", version is not None, version or "not installed", "pip install 'fusesearch[gpu]'")
        yield Check("grpo rollouts", False, "vllm rollouts are not built yet", "set grpo.rollouts to transformers")
    if params.teacher.localizer == "model":
        yield from _teacher(params)
    if params.mine.source == "github":
        yield Check("github token", "GITHUB_TOKEN" in os.environ, "GITHUB_TOKEN", "set it to a token that may read public data")


def _gpus(need: Need) -> Check:
    wanted = f"{need.gpus} x {need.gpu_gb:.0f} GB" if need.gpus else "none"
    enough = [memory for _, memory in gpus() if memory >= need.gpu_gb * 0.95]
    return Check(
        "gpu", len(enough) >= need.gpus, f"needs {wanted}, here {len(gpus())} ({need.source})", "use a machine that has them"
    )


def _teacher(params: Params) -> Iterator[Check]:
    teacher = params.teacher
    named = bool(teacher.model and teacher.base_url)
    yield Check("teacher", named, teacher.model or "no model named", "set teacher.model and teacher.base_url in params.yaml")
    key = teacher.api_key_env
    yield Check("teacher key", key in os.environ, key, f"export {key}=..., if the endpoint asks for one")
