"""An environment with the fake veRL, and what makes the real one run on a CPU."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from fusesearch.training.engines.verl_files import CONFIGS, ENVIRONMENT, VERSION

ROOT = Path(__file__).parents[2]
PACKAGE = Path(__file__).with_name("verl_package")


def fake_verl(project: Path, version: str = VERSION) -> None:
    """Make the fake veRL's environment in ``project``, which gets the configurations, too."""
    metadata = project / "packages" / f"verl-{version}.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text(f"Metadata-Version: 2.1\nName: verl\nVersion: {version}\n")
    python = project / ENVIRONMENT
    python.parent.mkdir(parents=True)
    path = os.pathsep.join(map(str, (PACKAGE, metadata.parents[1], ROOT)))
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{path}:$PYTHONPATH" exec {sys.executable} "$@"\n')
    python.chmod(python.stat().st_mode | stat.S_IEXEC)
    (project / CONFIGS).parent.mkdir(parents=True, exist_ok=True)
    (project / CONFIGS).symlink_to(ROOT / CONFIGS)


ON_CPU = {
    "VERL_USE_EXTERNAL_MODULES": "verl_on_cpu",
    "VERL_PLATFORM": "cpu",
    "VERL_ENGINE_DEVICE": "cuda",  # the FSDP engine is registered for cuda, and asks the platform for its device
    "VERL_ENGINE_VENDOR": "nvidia",
    "PYTHONPATH": str(ROOT / "tests" / "trials"),
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "disabled",
    "HF_HUB_OFFLINE": "1",
}
"""Environment variables with which the real veRL runs on a CPU: ``tests/trials/verl_on_cpu.py``."""
CPU_OPTIONS = [
    "trainer.device=cpu",
    "trainer.nnodes=1",
    "trainer.n_gpus_per_node=1",
    "+ray_kwargs.ray_init.num_gpus=1",
    "ray_kwargs.ray_init.num_cpus=16",
    "+ray_kwargs.ray_init.include_dashboard=false",
    "transfer_queue.backend.SimpleStorage.num_data_storage_units=1",
    "data.dataloader_num_workers=0",
    "actor_rollout_ref.rollout.name=transformers",
    "actor_rollout_ref.rollout.tensor_model_parallel_size=1",
    "actor_rollout_ref.rollout.agent.num_workers=1",
    "actor_rollout_ref.model.use_remove_padding=false",  # it takes flash attention
    "actor_rollout_ref.actor.use_torch_compile=false",
    "actor_rollout_ref.actor.fsdp_config.use_torch_compile=false",
    "actor_rollout_ref.ref.fsdp_config.use_torch_compile=false",
    "+actor_rollout_ref.actor.fsdp_config.mixed_precision.param_dtype=fp32",
    "+actor_rollout_ref.ref.fsdp_config.mixed_precision.param_dtype=fp32",
    "actor_rollout_ref.ref.fsdp_config.model_dtype=fp32",
    "+actor_rollout_ref.model.override_config.attn_implementation=sdpa",
]
