"""What GRPO by veRL needs of the machines of its cluster: :mod:`fusesearch.cli.needs` asks here for ``grpo.engine: verl``.

veRL shares weights, gradients and optimizer out over the GPUs of all machines, has its reference in the hosts' memory, and
lets vLLM sleep while a step trains. The formulas are those of :mod:`fusesearch.training.budget`.
"""

from __future__ import annotations

import os
import socket
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fusesearch.cli.checks import Check
from fusesearch.core.config import Params
from fusesearch.core.errors import ConfigError, DataError
from fusesearch.training.architectures import Architecture
from fusesearch.training.budget import (
    SERVED,
    SERVER_CONTEXT,
    gib,
    longest_pass,
    requests_at_once,
    serving_bytes,
    training_bytes,
    whole_gib,
)
from fusesearch.training.engines.verl_config import check, configured, verl_python

WEIGHTS, MOMENTS = 4, 8
"""Bytes a parameter of weights and of AdamW's moments, in float32."""
DEFAULTS = {
    "trainer.nnodes": 1,
    "trainer.n_gpus_per_node": 8,
    "data.max_prompt_length": 512,
    "data.max_response_length": 512,
    "actor_rollout_ref.actor.ppo_max_token_len_per_gpu": 16384,
    "actor_rollout_ref.actor.ulysses_sequence_parallel_size": 1,
    "actor_rollout_ref.actor.fsdp_config.param_offload": False,
    "actor_rollout_ref.actor.fsdp_config.optimizer_offload": False,
    "actor_rollout_ref.rollout.tensor_model_parallel_size": 2,
    "actor_rollout_ref.rollout.gpu_memory_utilization": 0.5,
}
"""veRL's own values (0.9.1) of what the configurations may leave out."""


def machines(params: Params, root: Path) -> tuple[int, int]:
    """How many machines veRL trains on, and the GPUs of each. Raises :class:`ConfigError` for a missing configuration."""
    found = DEFAULTS | configured(params.grpo.verl_config, params.compute.verl_options, root)
    return int(found["trainer.nnodes"]), int(found["trainer.n_gpus_per_node"])


def verl_memory(params: Params, model: Architecture, room: float, host: float | None, root: Path) -> Iterator[Check]:
    """Memory of a step on each GPU, which has ``room`` bytes, and of each machine, which has ``host`` where that is known."""
    found = DEFAULTS | configured(params.grpo.verl_config, params.compute.verl_options, root)
    given = Namespace(**{key.rpartition(".")[2]: found[key] for key in DEFAULTS})
    nodes, each = int(given.nnodes), int(given.n_gpus_per_node)
    longest, tokens = given.max_prompt_length + given.max_response_length, given.ppo_max_token_len_per_gpu
    yield from _lengths(params, longest, tokens * given.ulysses_sequence_parallel_size)
    needed = training_bytes(model, tokens, nodes * each)
    less = longest_pass(model, room, nodes * each) // 1024 * 1024
    on = f"on each of {nodes} x {each} GPUs"
    yield Check(
        "grpo memory",
        needed <= room,
        f"{gib(needed):.1f} GiB {on} at {tokens:,} tokens a pass, {gib(room):.1f} GiB are there",
        f"compute.verl_options: [actor_rollout_ref.actor.ppo_max_token_len_per_gpu={less}, "
        f"actor_rollout_ref.actor.ulysses_sequence_parallel_size={_power(longest / max(less, 1))}]"
        if less
        else f"more machines (trainer.nnodes), or GPUs of {whole_gib(needed)} GiB",
    )
    yield _serving(params, model, given, room, longest)
    yield _host(params, model, given, host)


def _power(least: float) -> int:
    return next(size for size in (1, 2, 4, 8, 16, 32, 64, 128) if size >= min(least, 128))


def _lengths(params: Params, longest: int, fits: int) -> Iterator[Check]:
    limit = params.agent.max_context_tokens
    if longest != limit or longest > fits:
        detail = f"{longest:,} tokens of prompt and response, agent.max_context_tokens is {limit:,}, a pass takes {fits:,}"
        hint = "data.max_prompt_length and max_response_length make agent.max_context_tokens, and a pass takes the longest row"
        yield Check("grpo lengths", longest >= limit and longest <= fits, detail, hint)


def _serving(params: Params, model: Architecture, given: Namespace, room: float, longest: int) -> Check:
    """Whether vLLM fits into its share beside what training leaves on the GPU meanwhile."""
    size, share = int(given.tensor_model_parallel_size), float(given.gpu_memory_utilization)
    gpus = given.nnodes * given.n_gpus_per_node
    resident = WEIGHTS * (not given.param_offload) + MOMENTS * (not given.optimizer_offload)
    beside = resident * model.parameters / gpus
    needed, own = serving_bytes(model, longest, size), share * room * size
    detail = f"{gib(needed):.1f} GiB for a request of {longest:,} tokens, {gib(own):.1f} GiB are its share of {size} GPUs"
    if beside + share * room > room:
        most = int((1 - beside / room) * 20) / 20 if room else 0.0
        hint = f"compute.verl_options: [actor_rollout_ref.rollout.gpu_memory_utilization={most}]"
        return Check("vllm memory", False, f"{detail}, beside {gib(beside):.1f} GiB of training on each", hint)
    if needed <= own:
        length = min(15_000, longest // 2)
        fits, servers = requests_at_once(model, own, length, size), gpus // size
        asked = params.grpo.prompts_per_step * params.grpo.group
        detail += (
            f", which holds {fits} rollouts of {length:,} tokens at once: {fits * servers} on all {servers}, of {asked} of a step"
        )
    least = int((SERVER_CONTEXT * size + needed) / max(room * size, 1) * 20 + 1) / 20
    hint = f"compute.verl_options: [actor_rollout_ref.rollout.gpu_memory_utilization={least}]"
    if least > 1:
        hint = f"compute.verl_options: [actor_rollout_ref.rollout.tensor_model_parallel_size={2 * size}]"
    return Check("vllm memory", needed <= own, detail, hint)


def _host(params: Params, model: Architecture, given: Namespace, host: float | None) -> Check:
    """Memory of each machine: weights while they are loaded, by every process where embeddings are tied, or what rests there."""
    loading = WEIGHTS * model.parameters * (given.n_gpus_per_node if model.tied else 1)
    resting = WEIGHTS * given.param_offload + MOMENTS * given.optimizer_offload + SERVED * (params.grpo.kl > 0)
    needed = max(loading, resting * model.parameters / given.nnodes)
    detail = f"{gib(needed):,.0f} GiB on each machine" + (f", this one has {gib(host):,.0f}" if host else "")
    return Check("grpo host memory", host is None or needed <= host, detail, "fewer processes a machine: trainer.n_gpus_per_node")


def verl_pieces(params: Params, root: Path) -> Iterator[Check]:
    """veRL, its own word on the configuration, and the Ray cluster."""
    nodes, _ = machines(params, root)
    try:
        python = verl_python(root)
    except ConfigError as error:
        yield Check("verl", False, "not installed", str(error))
        yield Check("verl configuration", True, f"{params.grpo.verl_config}; veRL itself has not looked at it")
    else:
        yield Check("verl", True, str(python))
        said = composed(params, root)
        yield Check("verl configuration", not said, said or params.grpo.verl_config, "correct it, or compute.verl_options")
    address = params.compute.ray_address or os.environ.get("RAY_ADDRESS", "")
    if address or nodes > 1:
        detail = address or f"no address of a cluster of {nodes} machines"
        hint = "`ray start --head` on one machine, `ray start --address` on the others, its address in compute.ray_address"
        yield Check("ray", bool(address) and (address == "auto" or _answers(address)), detail, hint)


def composed(params: Params, root: Path) -> str:
    """What veRL says against the configuration with the params over it, in one line; empty if nothing."""
    import yaml

    from fusesearch.training.engines.verl_training import Places, configuration

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        places = Places(folder, Path(params.model.base), root / "data/repos", folder)
        try:
            values: dict[str, Any] = configuration(params, params.grpo, places, 1, params.grpo.prompts_per_step)
        except (ConfigError, DataError) as error:
            return str(error)
        (folder / "grpo.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
        return check(verl_python(root), folder, "grpo", params.compute.verl_options)


def _answers(address: str) -> bool:
    parts = urlsplit(address if "://" in address else f"ray://{address}")
    with suppress(OSError, ValueError), socket.create_connection((parts.hostname or "", parts.port or 6379), timeout=2):
        return True
    return False
