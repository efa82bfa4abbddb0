"""The checks of ``fusesearch doctor --profile`` on GPUs: memory of a step and of a server, and hours of training.

The formulas are in :mod:`fusesearch.training.budget`. A rank of training takes a GPU, and so does a server, which may share it;
veRL (``grpo.engine: verl``) shares weights, gradients and optimizer out over the GPUs of all machines of its cluster.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

from fusesearch.cli.checks import Check, Machine
from fusesearch.core.config import Params
from fusesearch.core.errors import ArtifactError, ConfigError
from fusesearch.training.architectures import Architecture, config_of
from fusesearch.training.budget import (
    REFERENCE,
    SERVER_CONTEXT,
    gib,
    longest_pass,
    peak_of,
    requests_at_once,
    serving_bytes,
    training_bytes,
    training_flop,
    training_hours,
    whole_gib,
)
from fusesearch.training.engines.verl_files import configured, verl_python

ROLLOUT_TOKENS = 15_000
"""Length of a rollout that hours are computed with: table 2 of FuseSearch implies 10,000 to 19,000."""
VERL_TOKENS = "actor_rollout_ref.actor.ppo_max_token_len_per_gpu"
VERL_DEFAULTS = {"trainer.nnodes": 1, "trainer.n_gpus_per_node": 8, VERL_TOKENS: 16384}
"""veRL's own values (0.9.1) of what the configurations may leave out."""


def gpu_checks(params: Params, machine: Machine, root: Path) -> Iterator[Check]:
    """GPUs that a profile needs, their memory, the hours of training, and veRL where it trains."""
    from fusesearch.training.serving import server_options

    ranks, verl = params.compute.ranks, params.grpo.engine == "verl"
    if verl:
        yield from verl_pieces(params, root)
    try:
        model = Architecture.of(config_of(params.model.base, root))
    except (ConfigError, ArtifactError) as error:
        yield Check("memory", False, "unknown", str(error))
        return
    options = server_options(params.compute.options)
    vllm = params.grpo.rollouts == "vllm" and not verl
    serve = params.compute.serve * options.tensor_parallel_size if vllm else 0
    nodes, each, tokens = verl_cluster(params, root) if verl else (1, serve, 0)
    wanted = max(ranks, each)
    seen = f"{machine.count} x {gib(machine.memory):.0f} GiB" if machine.count else "none"
    place = f" on each of {nodes} machines" if verl else ""
    yield Check("gpu", machine.count >= wanted, f"{wanted} needed{place}, {seen}", "use machines that have them, or fewer ranks")
    share = 0.0
    if vllm:
        yield _server_memory(params, model, machine, options)
    if vllm and machine.count < ranks + serve:
        sleeping = SERVER_CONTEXT / max(machine.memory, 1)
        share = sleeping if options.enable_sleep_mode else options.gpu_memory_utilization
    yield _step_memory(params, model, machine, "sft", "sft.max_length", params.sft.max_length)
    longest = params.agent.max_context_tokens + params.agent.max_new_tokens
    longest = min(longest, options.max_model_len or longest, model.positions)  # where a message is cut
    if verl:
        needed, less = (
            training_bytes(model, tokens, nodes * each),
            longest_pass(model, machine.memory, nodes * each) // 1024 * 1024,
        )
        detail = (
            f"{gib(needed):.1f} GiB on each of {nodes} x {each} GPUs at {tokens:,} tokens a pass, {gib(machine.memory):.1f} GiB"
        )
        hint = f"compute.verl_options: [{VERL_TOKENS}={less}], or more machines (trainer.nnodes)"
        yield Check("grpo memory", needed <= machine.memory, f"{detail} are there", hint)
    else:
        yield _step_memory(params, model, machine, "grpo", "agent.max_context_tokens", longest, share)
    yield from _hours(params, model, machine, nodes * wanted if verl else ranks)


def _server_memory(params: Params, model: Architecture, machine: Machine, options: argparse.Namespace) -> Check:
    """Whether a server fits into its share of its GPUs with one request of the longest length it takes."""
    limit, given = params.agent.max_context_tokens, options.max_model_len or model.positions
    if given < limit:
        detail = f"the server takes {given:,} tokens, agent.max_context_tokens is {limit:,}"
        return Check("vllm memory", False, detail, f"agent.max_context_tokens: {given}")
    each, length = options.tensor_parallel_size, min(ROLLOUT_TOKENS, limit // 2)
    room, needed = options.gpu_memory_utilization * machine.memory * each, serving_bytes(model, given, each)
    fits = requests_at_once(model, room, length, each) * params.compute.serve
    detail = (
        f"{gib(needed):.1f} GiB for a request of {given:,} tokens, {gib(room):.1f} GiB are its share: {fits} rollouts at once"
    )
    hint = f'compute.options: [--max-model-len, "{limit}"], or [--tensor-parallel-size, "{2 * each}"] over more GPUs'
    return Check("vllm memory", needed <= room, detail, hint)


def _step_memory(
    params: Params, model: Architecture, machine: Machine, stage: str, key: str, length: int, share: float = 0.0
) -> Check:
    """Whether a training step fits, with rows of ``length`` tokens (the param ``key``).

    ``share`` is what a vLLM server takes of the same GPU.
    """
    section, ranks = getattr(params, stage), params.compute.ranks
    rows = params.sft.batch_size if stage == "sft" else params.grpo.prompts_per_step * params.grpo.group
    limit, lora = params.grpo.tokens_per_pass or 0 if stage == "grpo" else 0, section.lora.rank
    tokens = max(limit, length) if limit else min(section.micro_batch, rows // ranks) * length
    reference = REFERENCE if stage == "grpo" and params.grpo.kl and not lora else 0
    room, needed = (1 - share) * machine.memory, training_bytes(model, tokens, ranks, reference, lora)
    detail = f"{gib(needed):.1f} GiB for {tokens:,} tokens at once (rows of {length:,}), {gib(room):.1f} GiB are free"
    if needed <= room:
        return Check(f"{stage} memory", True, detail)
    hints = []
    if fits := longest_pass(model, room, ranks, reference, lora) // 1024 * 1024:
        one = f"grpo.tokens_per_pass: {fits}" if limit and fits >= length else f"{stage}.micro_batch: {fits // length}"
        hints.append(one if fits >= length else f"{key}: {fits} at {stage}.micro_batch 1")
    several = (more for more in (2, 4, 8, 16, 32, 64) if ranks < more <= rows)
    if more := next((more for more in several if training_bytes(model, length, more, reference, lora) <= room), 0):
        hints.append(f"compute.ranks: {more} on as many such GPUs")
    if not lora and training_bytes(model, length, ranks, lora=16) <= room:
        hints.append(f"{stage}.lora: {{rank: 16}}")
    return Check(f"{stage} memory", False, detail, " or ".join([*hints, f"GPUs of {whole_gib(needed / (1 - share))} GiB"]))


def _hours(params: Params, model: Architecture, machine: Machine, gpus: int) -> Iterator[Check]:
    """Hours of SFT on ``compute.ranks`` GPUs and of GRPO on ``gpus``, as long as rollouts are as long as assumed."""
    peak = peak_of(machine.name)
    if peak is None:
        yield Check("hours", True, f"not known for {machine.name or 'a machine without a GPU'}: see --gpus")
        return
    length, grpo = min(ROLLOUT_TOKENS, params.agent.max_context_tokens // 2), params.grpo
    rollouts = grpo.prompts_per_step * grpo.group
    forwards = (grpo.kl > 0) + (grpo.engine == "verl")  # of the reference, and of the policy before the step
    sft = training_flop(model, length, 1000) * params.sft.epochs
    rl = training_flop(model, length, rollouts, forwards) * grpo.steps
    for name, flop, on, what in (
        ("sft", sft, params.compute.ranks, "for each 1,000 trajectories"),
        ("grpo", rl, gpus, f"of training for {grpo.steps} steps of {rollouts} rollouts"),
    ):
        low, high = training_hours(model, flop, peak * on)
        yield Check(f"{name} hours", True, f"{low:,.2f} to {high:,.2f} {what} of {length:,} tokens on {on} x {machine.name}")


def verl_cluster(params: Params, root: Path) -> tuple[int, ...]:
    """How many machines veRL trains on, GPUs of each, and tokens of a pass. :class:`ConfigError` for a missing configuration."""
    found = VERL_DEFAULTS | configured(params.grpo.verl_config, params.compute.verl_options, root)
    return tuple(int(found[key]) for key in VERL_DEFAULTS)


def verl_pieces(params: Params, root: Path) -> Iterator[Check]:
    """veRL, and the Ray cluster of several machines."""
    try:
        yield Check("verl", True, f"{verl_python(root)}, {params.grpo.verl_config}")
    except ConfigError as error:
        yield Check("verl", False, "not installed", str(error))
    if (nodes := verl_cluster(params, root)[0]) > 1:
        address = os.environ.get("RAY_ADDRESS", "")
        hint = "`ray start --head` on one machine, `ray start --address` on the others, its address in RAY_ADDRESS"
        yield Check("ray", bool(address), address or f"no address of a cluster of {nodes} machines", hint)
