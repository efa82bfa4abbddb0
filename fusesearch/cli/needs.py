"""The checks of ``fusesearch doctor --profile``: :data:`PROFILE`, of what a profile needs where it is to run.

Memory and hours are by the formulas of :mod:`fusesearch.training.budget`. A rank of training takes a GPU, and so does a server,
which may share it; veRL (``grpo.engine: verl``) shares weights, gradients and optimizer out over the GPUs of its cluster.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from fusesearch.cli.checks import DISK_GB, Check, gpus, room
from fusesearch.core.config import Params, parse_params, read_mapping
from fusesearch.core.cores import cores
from fusesearch.core.errors import ArtifactError, ConfigError
from fusesearch.core.schema import Trajectory
from fusesearch.core.storage import read_json
from fusesearch.evaluation.costs import tokens_context
from fusesearch.reporting.headroom import headroom_said
from fusesearch.training.architectures import Architecture, config_of, folder_of
from fusesearch.training.budget import (
    REFERENCE,
    SERVER_CONTEXT,
    gib,
    longest_pass,
    peak_of,
    serving_bytes,
    training_bytes,
    training_flop,
    training_hours,
)
from fusesearch.training.serving import server_options, vllm_python

CLONES_GB = 100.0
"""Room for clones and snapshots of real repositories: an estimate for 233 of them."""
MADE = {
    "experiments/nano/base": "make base",
    "experiments/smol/base": "uv pip install gguf && python -m experiments.smol",
    "experiments/smol/coder-0.5b": "uv pip install gguf && python -m experiments.smol coder-0.5b",
}
"""What makes a base model that is not on a hub."""
ROLLOUT_TOKENS = 15_000
"""Length of a rollout that hours are computed with before any is sampled: table 2 of FuseSearch implies 10,000 to 19,000."""
SELECTED = Path("data/selected/trajectories.jsonl")
SAMPLES = 20
CORE = 63e9
"""FLOP a second of a core in float32 products, measured on one with AVX2."""
VERL_TOKENS = "actor_rollout_ref.actor.ppo_max_token_len_per_gpu"
VERL_DEFAULTS = {"trainer.nnodes": 1, "trainer.n_gpus_per_node": 8, VERL_TOKENS: 16384}
"""veRL's own values (0.9.1) of what the configurations may leave out."""


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


def disk(place: Place) -> Iterator[Check]:
    """Cores, and disk space for clones."""
    whose = "" if place.machine.own else ", of this machine and not of the one that was asked for"
    yield from room(place.root, DISK_GB + CLONES_GB * (place.params.mine.source == "github"), whose)


def verl(place: Place) -> Iterator[Check]:
    """veRL, where it trains, and the Ray cluster of several machines."""
    if place.params.grpo.engine != "verl":
        return
    from fusesearch.training.engines.verl_files import verl_python  # needs an extra

    try:
        yield Check("verl", True, f"{verl_python(place.root)}, {place.params.grpo.verl_config}")
    except ConfigError as error:
        yield Check("verl", False, "not installed", str(error))
    if (nodes := _cluster(place)[0]) > 1:
        address = os.environ.get("RAY_ADDRESS", "")
        hint = "`ray start --head` on one machine, `ray start --address` on the others, its address in RAY_ADDRESS"
        yield Check("ray", bool(address), address or f"no address of a cluster of {nodes} machines", hint)


def hardware(place: Place) -> Iterator[Check]:
    """GPUs, their memory, and the hours of training."""
    params, machine, on_cores = place.params, place.machine, place.params.model.dtype == "float32"
    if on_cores:
        yield Check("gpu", True, "not needed")
    try:
        model = Architecture.of(config_of(params.model.base, place.root))
    except (ConfigError, ArtifactError) as error:
        yield from () if on_cores else (Check("memory", False, "unknown", str(error)),)
        return
    length = _length(place)
    if on_cores:
        yield from _hours(params, model, length, CORE, " cores", cores(), cores())
        return
    ranks, options, by_verl = params.compute.ranks, server_options(params.compute.options), params.grpo.engine == "verl"
    vllm = params.grpo.rollouts == "vllm" and not by_verl
    serve = params.compute.serve * options.tensor_parallel_size if vllm else 0
    nodes, each, tokens = _cluster(place) if by_verl else (1, serve, 0)
    wanted, on_each = max(ranks, each), f" on each of {nodes} machines" if by_verl else ""
    seen = f"{machine.count} x {gib(machine.memory):.0f} GiB" if machine.count else "none"
    elsewhere = f"fusesearch doctor --profile {params.profile} --gpus {wanted} --gpu-memory 80: what fits and lasts elsewhere"
    yield Check("gpu", machine.count >= wanted, f"{wanted} needed{on_each}, {seen}", f"fewer ranks, or {elsewhere}")
    if peak := peak_of(machine.name or "H100"):
        on = f" x {machine.name}" if machine.name else " x H100, had this machine any"
        yield from _hours(params, model, length, peak, on, ranks, nodes * wanted if by_verl else ranks)
    else:
        yield Check("hours", True, f"not known for {machine.name}")
    if not machine.count:
        return
    share = 0.0  # of a GPU that a server takes, too
    if vllm:
        yield _server(params, model, machine, options)
    if vllm and machine.count < ranks + serve:
        sleeping = SERVER_CONTEXT / max(machine.memory, 1)
        share = sleeping if options.enable_sleep_mode else options.gpu_memory_utilization
    sft, grpo = params.sft, params.grpo
    rows, more = min(sft.micro_batch, sft.batch_size // ranks), "compute.ranks (as many such GPUs), lora"
    yield _step("sft", model, rows * sft.max_length, machine.memory, ranks, 0, sft.lora.rank, "sft.max_length, micro_batch", more)
    if by_verl:
        yield _step("grpo", model, tokens, machine.memory, nodes * each, 0, 0, VERL_TOKENS, "trainer.nnodes")
        return
    longest = params.agent.max_context_tokens + params.agent.max_new_tokens
    longest = min(longest, options.max_model_len or longest, model.positions)  # where a message is cut
    rows = min(grpo.micro_batch, grpo.prompts_per_step * grpo.group // ranks)
    tokens = max(grpo.tokens_per_pass, longest) if grpo.tokens_per_pass else rows * longest
    reference, less = REFERENCE if grpo.kl and not grpo.lora.rank else 0, "agent.max_context_tokens, tokens_per_pass, micro_batch"
    yield _step("grpo", model, tokens, (1 - share) * machine.memory, ranks, reference, grpo.lora.rank, less, more)


def headroom(place: Place) -> Iterator[Check]:
    """What RL can gain, where grpo has measured it."""
    yield Check("rl headroom", True, headroom_said(place.params.grpo, place.root / "artifacts/grpo/metrics.json"))


def weights(place: Place) -> Iterator[Check]:
    """The base checkpoint, and its tokenizer, whose chat template shows the tools where the prompt leaves that to it."""
    base = place.params.model.base
    folder, hint = folder_of(base, place.root), MADE.get(base, f"download it once: hf download {base}")
    found = bool(folder and any(folder.glob("*.safetensors")))
    yield Check("base checkpoint", found, base if found else f"the weights of {base} are not on this machine", hint)
    lacking = ""
    if folder is None or not any((folder / name).is_file() for name in ("tokenizer.json", "vocab.json")):
        lacking = ": no tokenizer on this machine"
    else:
        settings, own = folder / "tokenizer_config.json", folder / "chat_template.jinja"
        template = own.read_text(encoding="utf-8") if own.is_file() else ""
        template = template or str((read_json(settings) if settings.is_file() else {}).get("chat_template") or "")
        if not template or (place.params.agent.prompt == "full" and "tools" not in template):
            lacking = f": its {'chat template shows no tools' if template else 'tokenizer has no chat template'}"
    yield Check("tokenizer", not lacking, f"{base}{lacking}", hint)


def vllm(place: Place) -> Iterator[Check]:
    """vLLM, where rollouts, episodes or the teacher ask it."""
    params, teacher = place.params, place.params.teacher
    if "vllm" in (params.grpo.rollouts, params.evaluate.rollouts) or (teacher.model and not teacher.base_url):
        try:
            yield Check("vllm", True, str(vllm_python()))
        except ConfigError as error:
            yield Check("vllm", False, "not installed", str(error))


def teacher(place: Place) -> Iterator[Check]:
    """The teacher's endpoint, and its key if that is refused."""
    wanted = place.params.teacher
    if wanted.model and wanted.base_url:
        status, key = status_of(f"{wanted.base_url.rstrip('/')}/models"), "OPENAI_API_KEY"
        detail = f"{'nothing answers at ' * (status is None)}{wanted.base_url}"
        yield Check("teacher endpoint", status is not None, detail, "start it, or set teacher.base_url")
        if status in (401, 403):
            yield Check("teacher key", False, f"{wanted.base_url} refuses {key}", f"export {key}=... with one that it takes")


def github(place: Place) -> Iterator[Check]:
    """The credentials of mining: a token, or those of an App."""
    if place.params.mine.source == "github":
        from fusesearch.data.sources.github.client import APP, TOKEN

        given = TOKEN in os.environ or set(APP) <= set(os.environ)
        yield Check("github token", given, TOKEN, "set it to a token that can read public data")


PROFILE: tuple[Callable[[Place], Iterator[Check]], ...] = (disk, verl, hardware, headroom, weights, vllm, teacher, github)


def _cluster(place: Place) -> tuple[int, ...]:
    """How many machines veRL trains on, GPUs of each, and tokens of a pass. :class:`ConfigError` for a missing configuration."""
    from fusesearch.training.engines.verl_files import configured

    params = place.params
    found = VERL_DEFAULTS | configured(params.grpo.verl_config, params.compute.verl_options, place.root)
    return tuple(int(found[key]) for key in VERL_DEFAULTS)


def checked(place: Place) -> list[Check]:
    """All checks of :data:`PROFILE`."""
    return [check for each in PROFILE for check in each(place)]


def _length(place: Place) -> tuple[int, str]:
    """Tokens of a rollout and where they are from: trajectories selected under the params that decide them, or an assumption."""
    agent, most = place.params.agent, place.params.agent.max_context_tokens
    try:
        made = read_mapping(place.root / "dvc.lock")["stages"]["synthesize"]["params"]["params.yaml"]
        of = {name: made[name] for name in ("agent", "tools", "teacher")}
        if all(getattr(parse_params(of), name) == getattr(place.params, name) for name in of):
            rows = (place.root / SELECTED).read_text(encoding="utf-8").splitlines()
            found = [Trajectory.model_validate_json(row) for row in rows[:: max(1, len(rows) // SAMPLES)][:SAMPLES]]
            return min(most, round(fmean(map(tokens_context, found)))), f"tokens, the mean of {len(found)} selected"
    except (ConfigError, OSError, KeyError, TypeError, ValueError):  # nothing was selected yet
        pass
    full = agent.max_turns * place.params.tools.output_chars // 4  # one call a turn, at four characters a token
    return min(ROLLOUT_TOKENS, most // 2, full), "tokens, assumed"


def _server(params: Params, model: Architecture, machine: Machine, options: argparse.Namespace) -> Check:
    """Whether a server fits into its share of its GPUs with one request of the longest length it takes."""
    limit, given = params.agent.max_context_tokens, options.max_model_len or model.positions
    if given < limit:
        detail = f"the server takes {given:,} tokens, agent.max_context_tokens is {limit:,}"
        return Check("vllm memory", False, detail, f"agent.max_context_tokens: {given}")
    each = options.tensor_parallel_size
    room, needed = options.gpu_memory_utilization * machine.memory * each, serving_bytes(model, given, each)
    detail = f"{gib(needed):.1f} GiB for a request of {given:,} tokens, {gib(room):.1f} GiB are its share"
    hint = f'compute.options: [--max-model-len, "{limit}"], or [--tensor-parallel-size, "{2 * each}"] over more GPUs'
    return Check("vllm memory", needed <= room, detail, hint)


def _step(
    stage: str, model: Architecture, tokens: int, room: float, ranks: int, reference: int, lora: int, less: str, more: str
) -> Check:
    """Whether a step with ``tokens`` a pass fits into ``room`` bytes of each GPU; ``less`` and ``more`` name params to change."""
    needed, fits = training_bytes(model, tokens, ranks, reference, lora), longest_pass(model, room, ranks, reference, lora)
    detail = f"{gib(needed):.1f} GiB on each of {ranks} GPUs for {tokens:,} tokens at once, {gib(room):.1f} GiB are free"
    hint = f"{fits:,} tokens at once fit: change {less}, {more}, or take larger GPUs"
    return Check(f"{stage} memory", needed <= room, detail, hint)


def _hours(
    params: Params, model: Architecture, length: tuple[int, str], peak: float, on: str, ranks: int, gpus: int
) -> Iterator[Check]:
    """Hours of SFT on ``ranks`` GPUs or cores and of GRPO on ``gpus``, each of ``peak`` FLOP a second and called ``on``."""
    (tokens, words), grpo = length, params.grpo
    kept = 1000 * min(params.synthesize.per_instance, params.select.per_instance or params.synthesize.per_instance)
    kept = min(kept, params.select.max_trajectories or kept) * (1 + params.sft.renamed_copies)
    rollouts = grpo.prompts_per_step * grpo.group
    forwards = (grpo.kl > 0) + (grpo.engine == "verl")  # of the reference, and of the policy before the step
    sft = training_flop(model, tokens, kept) * params.sft.epochs
    rl = training_flop(model, tokens, rollouts, forwards) * grpo.steps
    for name, flop, count, what in (
        ("sft", sft, ranks, f"for 1,000 fixes, {kept:,} trajectories at most"),
        ("grpo", rl, gpus, f"for {grpo.steps} steps of {rollouts} rollouts, beside their sampling"),
    ):
        low, high = training_hours(model, flop, peak * count)
        yield Check(f"{name} hours", True, f"{low:,.2f} to {high:,.2f} {what}, of {tokens:,} {words}, on {count}{on}")


def status_of(url: str) -> int | None:
    """What a server answers to a request with the user's key; None if nothing does."""
    try:
        asked = Request(url, headers={"Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '')}"})  # noqa: S310
        with urlopen(asked, timeout=2) as answer:  # noqa: S310 - the address is the user's own setting
            return int(answer.status)
    except HTTPError as error:
        return error.code
    except (OSError, ValueError):  # ValueError: not an address
        return None
