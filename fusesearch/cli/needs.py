"""Compares the needs of a profile (memory, hours and disk by formulas; files and services) with a machine.

The formulas are in :mod:`fusesearch.training.budget`. A rank of training takes a GPU, and so does a server,
which may share it.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from fusesearch.cli.checks import DISK_GB, Check, disk, gpus
from fusesearch.cli.processor_needs import processor_checks
from fusesearch.cli.verl_needs import machines, verl_memory, verl_pieces
from fusesearch.core.config import Params
from fusesearch.core.cores import cores
from fusesearch.core.errors import ArtifactError, ConfigError
from fusesearch.core.storage import read_json
from fusesearch.training.architectures import Architecture, config_of, folder_of
from fusesearch.training.budget import (
    REFERENCE,
    SERVER_CONTEXT,
    disk_bytes,
    gib,
    loading_bytes,
    longest_pass,
    peak_of,
    requests_at_once,
    serving_bytes,
    training_bytes,
    training_flop,
    training_hours,
    whole_gib,
)

CLONES_GB = {"github": 100.0}
"""Room for clones and snapshots of a source that mines real repositories: an estimate for 233 of them."""
ROLLOUT_TOKENS = 15_000
"""Length of a rollout that hours are computed with: table 2 of FuseSearch implies 10,000 to 19,000."""
LARGEST_GPU = 288
"""GiB of the largest GPU sold (B300): a hint never asks for more."""


@dataclass(frozen=True)
class Machine:
    """GPUs of one kind: how many, the memory of each in bytes, and a name that :data:`~fusesearch.training.budget.PEAKS` may
    know.

    ``host`` is the machine's own memory in bytes, where it is known.
    """

    count: int
    memory: float
    name: str
    host: float | None = None

    @classmethod
    def here(cls) -> Machine:
        """This machine's, as large as the smallest of them."""
        found = gpus()
        host = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        return cls(len(found), min((memory for _, memory in found), default=0.0) * 2**30, found[0][0] if found else "", host)

    @classmethod
    def asked(cls, count: int, memory: float) -> Machine:
        """``count`` GPUs of ``memory`` GiB, as fast as those here or an H100."""
        here = cls.here()
        return cls(count, memory * 2**30, here.name or "H100")


def profile_checks(params: Params, root: Path, machine: Machine) -> Iterator[Check]:
    """Whether a profile can run on ``machine`` with what is at ``root``, and what would help."""
    whose = "" if machine.host is not None else ", of this machine and not of the one that was asked for"
    yield Check("cores", cores() >= 2, f"{cores()}{whose}", "2 or more")
    needed = DISK_GB + CLONES_GB.get(params.mine.source, 0.0)
    if params.model.dtype == "float32":
        yield Check("gpu", True, "not needed")
        yield from processor_checks(params, machine.host, root)
    else:
        try:
            model = Architecture.of(config_of(params.model.base, root))
        except (ConfigError, ArtifactError) as error:
            yield Check("memory", False, "unknown", str(error))
        else:
            needed += disk_bytes(model) / 1e9
            yield from _memory(params, model, machine, root)
    free = disk(root, needed)
    yield replace(free, detail=f"{free.detail}{whose}")
    yield from _pieces(params, root)


def _memory(params: Params, model: Architecture, machine: Machine, root: Path) -> Iterator[Check]:
    from fusesearch.training.serving import server_options

    verl = params.grpo.engine == "verl"
    vllm = params.grpo.rollouts == "vllm" and not params.compute.servers and not verl
    options = server_options(params.compute.options)
    options.enable_sleep_mode &= not params.grpo.ahead  # servers that make rollouts meanwhile do not sleep
    ranks, serve = params.compute.ranks, params.compute.serve * options.tensor_parallel_size if vllm else 0
    nodes, wanted = machines(params, root) if verl else (1, serve)
    wanted = max(ranks, wanted)
    seen = f"{machine.count} x {gib(machine.memory):.0f} GiB" if machine.count else "none"
    apart = bool(params.compute.servers) or (serve and machine.count >= ranks + serve)
    if params.grpo.rollouts == "vllm" and apart and not params.grpo.ahead and not verl:
        seen += "; training and servers are apart: grpo.ahead: 1 lets them work at once"
    yield Check(
        "gpu",
        machine.count >= wanted,
        f"{wanted} needed{f' on each of {nodes} machines' if verl else ''}, {seen}",
        "use machines that have them, or compute.verl_options: [trainer.n_gpus_per_node=N]"
        if verl
        else "use a machine that has them, or lower compute.ranks and serve",
    )
    shared = vllm and machine.count < ranks + serve
    if vllm:
        yield _serving(params, model, machine, options, shared)
    yield _training(params, model, machine, "sft", "sft.max_length", params.sft.max_length)
    share = 0.0
    if shared:
        share = SERVER_CONTEXT / max(machine.memory, 1) if options.enable_sleep_mode else options.gpu_memory_utilization
    longest = params.agent.max_context_tokens + params.agent.max_new_tokens
    longest = min(longest, options.max_model_len or longest, model.positions)  # where a message is cut
    if verl:
        yield from verl_memory(params, model, machine.memory, machine.host, root)
    else:
        yield _training(params, model, machine, "grpo", "agent.max_context_tokens", longest, share)
    if ranks > 1:
        yield _host(params, model, machine, ranks)
    yield from _hours(params, model, machine, {"grpo": nodes * wanted} if verl else {})


def _host(params: Params, model: Architecture, machine: Machine, ranks: int) -> Check:
    """Memory of the machine itself, before the weights are shared out among ``ranks``: the first loads them whole."""
    needed = max(
        loading_bytes(model, lora=params.sft.lora.rank),
        loading_bytes(model, lora=params.grpo.lora.rank, reference=params.grpo.kl > 0 and params.grpo.engine == "trl"),
    )
    detail = f"{gib(needed):,.0f} GiB while the first of {ranks} ranks loads the weights" + (
        f", this machine has {gib(machine.host):,.0f}" if machine.host else ""
    )
    ok = machine.host is None or needed <= machine.host
    return Check("host memory", ok, detail, "grpo.kl: 0, or lora")


def _serving(params: Params, model: Architecture, machine: Machine, options: argparse.Namespace, shared: bool) -> Check:
    """Whether a server fits into its share of its GPUs, and what it holds; ``shared``: training has states there."""
    limit, given = params.agent.max_context_tokens, options.max_model_len or model.positions
    if given < limit:
        return Check(
            "vllm memory", False, f"the server takes {given:,} tokens, agent.max_context_tokens is {limit:,}",
            f"agent.max_context_tokens: {given}",
        )  # fmt: skip
    share, length, each = options.gpu_memory_utilization, _length(params), options.tensor_parallel_size
    room, needed = share * machine.memory * each, serving_bytes(model, given, each)
    hints = [f"a GPU of {whole_gib(needed / share / each)} GiB", 'compute.options: [--tensor-parallel-size, "2"] over more GPUs']
    if serving_bytes(model, limit, each) <= room:
        hints.insert(0, f'compute.options: [--max-model-len, "{limit}"]')
    detail = f"{gib(needed):.1f} GiB for a request of {given:,} tokens, {gib(room):.1f} GiB are its share"
    if needed <= room:
        fits, grpo = requests_at_once(model, room, length, each), params.grpo
        detail += f", which holds {fits} rollouts of {length:,} tokens at once: {fits * params.compute.serve} on all servers, of "
        detail += f"{grpo.prompts_per_step * grpo.group} of a step"
    if shared and options.enable_sleep_mode:
        reference = REFERENCE if params.grpo.kl and not params.grpo.lora.rank else 0
        state = training_bytes(model, 0, params.compute.ranks, reference, params.grpo.lora.rank)
        if state + share * machine.memory > machine.memory:
            most = int((1 - state / machine.memory) * 20) / 20 if machine.memory else 0.0
            detail += f", beside {gib(state):.1f} GiB of training"
            return Check("vllm memory", False, detail, f'compute.options: [--gpu-memory-utilization, "{most}"]')
    return Check("vllm memory", needed <= room, detail, " or ".join(hints))


def _training(
    params: Params, model: Architecture, machine: Machine, stage: str, key: str, length: int, share: float = 0.0
) -> Check:
    """Whether a training step of ``stage`` fits into memory, with rows of ``length`` tokens (the param ``key``).

    ``share`` is what a vLLM server takes of the same GPU.
    """
    section, ranks = getattr(params, stage), params.compute.ranks
    size = params.sft.batch_size if stage == "sft" else params.grpo.prompts_per_step * params.grpo.group
    micro, room, lora = min(section.micro_batch, size // ranks), (1 - share) * machine.memory, section.lora.rank
    reference, limit = REFERENCE if stage == "grpo" and params.grpo.kl and not lora else 0, _pass_limit(params, stage)
    needed = training_bytes(model, max(limit, length) if limit else micro * length, ranks, reference, lora)
    passes = f"grpo.tokens_per_pass {limit:,}" if limit else f"{stage}.micro_batch {micro}"
    detail = f"{gib(needed):.1f} GiB at {passes} and rows of {length:,} tokens, {gib(room):.1f} GiB are free"
    if needed <= room:
        return Check(f"{stage} memory", True, detail)
    hints, alone = [], _alone(params, stage, length)
    less = int((1 - needed / machine.memory) * 20) / 20 if machine.memory else 0.0
    if serving_bytes(model, params.agent.max_context_tokens) <= less * machine.memory and less < share:
        hints.append(f'compute.options: [--gpu-memory-utilization, "{less}"]')
    smaller = _smaller(model, params, stage, key, length, sorted({reference, 0}, reverse=True), room)
    if change := next(smaller, None):
        hints.append(change)
    rooms = {"": room, ", with servers on others, named in compute.servers,": machine.memory if share else 0.0}
    for elsewhere, free in rooms.items():
        for more in range(ranks + (not elsewhere), min(size, 64) + 1):
            if size % more == 0 and training_bytes(model, length, more, reference, lora) <= free:
                hints.append(f"compute.ranks: {more} on a machine with {more} such GPUs{elsewhere}{alone}")
                break
    if not lora and training_bytes(model, length, ranks, lora=16) <= room:
        hints.append(f"{stage}.lora: {{rank: 16}}{alone}")
    if (larger := whole_gib(needed / (1 - share))) <= LARGEST_GPU or not hints:
        hints.append(f"GPUs of {larger} GiB")
    return Check(f"{stage} memory", False, detail, " or ".join(hints))


def _smaller(
    model: Architecture, params: Params, stage: str, key: str, length: int, references: list[int], room: float
) -> Iterator[str]:
    """Changes of the params with which a step fits into ``room``, the smallest first."""
    section, ranks = getattr(params, stage), params.compute.ranks
    rows = (params.sft.batch_size if stage == "sft" else params.grpo.prompts_per_step * params.grpo.group) // ranks
    micros = [fewer for fewer in range(min(section.micro_batch, rows), 0, -1) if rows % fewer == 0]
    sizes = {f"{stage}.micro_batch: {micro}": micro * length for micro in micros}
    if limit := _pass_limit(params, stage):
        sizes = {f"grpo.tokens_per_pass: {tokens}": tokens for tokens in {max(limit, length): 0, length: 0}}
    for reference in references:
        also = "" if reference == references[0] else " and grpo.kl: 0"
        for change, tokens in sizes.items():
            if training_bytes(model, tokens, ranks, reference, section.lora.rank) <= room:
                yield f"{change}{also}"
    for reference in references:
        also = "" if reference == references[0] else " and grpo.kl: 0"
        if fits := longest_pass(model, room, ranks, reference, section.lora.rank) // 1024 * 1024:
            yield f"{key}: {fits}{_alone(params, stage, fits)}{also}"


def _pass_limit(params: Params, stage: str) -> int:
    """``grpo.tokens_per_pass``; 0 where passes are counted in rows."""
    return params.grpo.tokens_per_pass or 0 if stage == "grpo" else 0


def _alone(params: Params, stage: str, length: int) -> str:
    """What makes every row of ``length`` tokens a pass of its own, where one is not already."""
    if limit := _pass_limit(params, stage):
        return f" at grpo.tokens_per_pass {length}" if limit > length else ""
    return f" at {stage}.micro_batch 1"


def _length(params: Params) -> int:
    return min(ROLLOUT_TOKENS, params.agent.max_context_tokens // 2)


def _hours(params: Params, model: Architecture, machine: Machine, gpus_of: Mapping[str, int]) -> Iterator[Check]:
    """Hours of training on ``compute.ranks`` GPUs, or as many as ``gpus_of`` has for a stage."""
    peak = peak_of(machine.name)
    if peak is None:
        yield Check("hours", True, f"not known for {machine.name or 'a machine without a GPU'}: see --gpus")
        return
    length, grpo = _length(params), params.grpo
    rollouts = grpo.prompts_per_step * grpo.group
    forwards = (grpo.kl > 0) + (grpo.engine == "verl")  # of the reference, and of the policy before the step
    spans = {
        "sft": (
            f"for each 1,000 trajectories of {length:,} tokens",
            training_flop(model, length, 1000) * params.sft.epochs,
        ),
        "grpo": (
            f"of training for {grpo.steps} steps of {rollouts} rollouts of {length:,} tokens",
            training_flop(model, length, rollouts, forwards) * grpo.steps,
        ),
    }
    for name, (what, flop) in spans.items():
        gpus = gpus_of.get(name, params.compute.ranks)
        low, high = training_hours(model, flop, peak * gpus)
        yield Check(f"{name} hours", True, f"{low:,.2f} to {high:,.2f} {what} on {gpus} x {machine.name}; the length is assumed")


def _pieces(params: Params, root: Path) -> Iterator[Check]:
    made = {"experiments/nano/base": "make base", "experiments/smol/base": "make smol"}
    base, folder = params.model.base, folder_of(params.model.base, root)
    weights = _weights("base checkpoint", base, root, made)
    hint = weights.hint
    yield weights
    lacking = _lacking_of_tokenizer(folder, tools=params.agent.prompt == "full")
    yield Check("tokenizer", not lacking, f"{base}: {lacking}" if lacking else base, hint)
    if params.sft.padding_free:
        flash = any(find_spec(name) for name in ("flash_attn", "kernels"))
        yield Check("flash attention", flash, "for sft.padding_free", "pip install kernels, or set sft.padding_free to false")
    teacher = params.teacher
    if params.grpo.engine == "verl":
        yield from verl_pieces(params, root)
    if "vllm" in (params.grpo.rollouts, params.evaluate.rollouts) or (teacher.localizer == "model" and not teacher.base_url):
        yield from _servers(params)
    if teacher.localizer == "model":
        yield Check("teacher", bool(teacher.model), teacher.model or "no model named", "set teacher.model in params.yaml")
        if teacher.base_url:
            reached = reachable(f"{teacher.base_url.rstrip('/')}/models")
            detail = teacher.base_url if reached else f"nothing answers at {teacher.base_url}"
            yield Check("teacher endpoint", reached, detail, "start it, or set teacher.base_url")
            key = teacher.api_key_env
            yield Check("teacher key", key in os.environ, key, f"export {key}=..., if the endpoint needs one")
    if params.mine.source == "github":
        env = params.mine.github.token_env
        token = env in os.environ or params.mine.github.app_id is not None
        yield Check("github token", token, env, "set it to a token that can read public data")


def _weights(name: str, base: str, root: Path, made: Mapping[str, str]) -> Check:
    folder = folder_of(base, root)
    found = bool(folder and any(folder.glob("*.safetensors")))
    detail = base if found else f"the weights of {base} are not on this machine"
    return Check(name, found, detail, made.get(base, f"download it once: hf download {base}"))


def _lacking_of_tokenizer(folder: Path | None, tools: bool) -> str:
    if folder is None or not ((folder / "tokenizer.json").is_file() or (folder / "vocab.json").is_file()):
        return "no tokenizer on this machine"
    settings, own = folder / "tokenizer_config.json", folder / "chat_template.jinja"
    template = own.read_text(encoding="utf-8") if own.is_file() else ""
    template = template or str((read_json(settings) if settings.is_file() else {}).get("chat_template") or "")
    if not template:
        return "its tokenizer has no chat template"
    return "its chat template shows no tools" if tools and "tools" not in template else ""


def _servers(params: Params) -> Iterator[Check]:
    from fusesearch.training.serving import vllm_python

    for address in params.compute.servers:
        health = f"{address.rstrip('/').removesuffix('/v1')}/health"
        yield Check("vllm server", reachable(health), address, "start vLLM there, or change compute.servers")
    if not params.compute.servers:
        try:
            yield Check("vllm", True, str(vllm_python()))
        except ConfigError as error:
            yield Check("vllm", False, "not installed", str(error))


def reachable(url: str) -> bool:
    """Whether a server answers at all, if only that it wants a key."""
    try:
        with urlopen(url, timeout=2):  # noqa: S310 - the address is the user's own setting
            return True
    except HTTPError:
        return True
    except (OSError, ValueError):  # ValueError: not an address
        return False
