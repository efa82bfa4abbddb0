"""What training on this machine's processors needs: :mod:`fusesearch.cli.needs` asks here for ``model.dtype: float32``.

The formulas of memory are in :mod:`fusesearch.training.processors`, those of arithmetic in :mod:`fusesearch.training.budget`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fusesearch.cli.checks import Check
from fusesearch.core.config import Params
from fusesearch.core.cores import cores
from fusesearch.core.errors import ArtifactError, ConfigError
from fusesearch.training.architectures import Architecture, config_of
from fusesearch.training.budget import LARGE, gib, processor_flop, training_flop, whole_gib
from fusesearch.training.processors import grpo_bytes, idle_bytes, sampler_bytes, sampling_bytes, sft_bytes

SHARES = (0.8, 0.4)
"""Highest and lowest share of :func:`processor_flop` in training: 0.75 with SmolLM2-135M on two cores."""
SAMPLED = 3
"""Forward passes over an episode that take as long as sampling it on a processor."""
STEP = 256
"""Tokens that a shorter length in a hint is a multiple of."""


def processor_checks(params: Params, host: float | None, root: Path) -> Iterator[Check]:
    """Memory and hours of training and sampling on this machine's cores; ``host``: its memory in bytes, where it is known.

    Hours only for models whose products of matrices take most of the time.
    """
    try:
        model, rate = Architecture.of(config_of(params.model.base, root)), processor_flop()
        yield from (_memory(Need(params, model, stage), host) for stage in ("sft", "grpo"))
    except (ConfigError, ArtifactError, ModuleNotFoundError):
        return
    if model.parameters >= LARGE:
        yield from _hours(params, model, rate)


@dataclass(frozen=True)
class Need:
    """Bytes of a ``stage``, ``sft`` or ``grpo``, by the length of its rows and its micro-batch."""

    params: Params
    model: Architecture
    stage: str

    @property
    def key(self) -> str:
        """The param that limits the length of a row."""
        return "sft.max_length" if self.stage == "sft" else "agent.max_context_tokens"

    @property
    def longest(self) -> int:
        """Tokens of the longest row."""
        agent = self.params.agent
        longest = self.params.sft.max_length if self.stage == "sft" else agent.max_context_tokens + agent.max_new_tokens
        return min(longest, self.model.positions)

    @property
    def micros(self) -> list[int]:
        """The micro-batch, and smaller ones, the largest first."""
        grpo, sft = self.params.grpo, self.params.sft
        rows = sft.batch_size if self.stage == "sft" else grpo.prompts_per_step * grpo.group
        most = min(rows, getattr(self.params, self.stage).micro_batch)
        return [micro for micro in range(most, 0, -1) if micro == most or rows % micro == 0]

    def at(self, tokens: int, micro: int, lora: int | None = None) -> float:
        """Bytes of all processes with rows of ``tokens``."""
        params, model, threads = self.params, self.model, cores()
        if self.stage == "sft":
            sft, rank = params.sft, params.sft.lora.rank if lora is None else lora
            several = sft.batch_size > micro
            return sft_bytes(model, tokens, micro, threads, several=several, optimizer=sft.optimizer, lora=rank)
        grpo, rank = params.grpo, params.grpo.lora.rank if lora is None else lora
        prompts, rollouts, prompt = grpo.prompts_per_step, grpo.prompts_per_step * grpo.group, tokens // 8
        trained = grpo_bytes(
            model, tokens - prompt, min(grpo.group, -(-micro // prompts)), min(micro, prompts), threads, prompt=prompt,
            several=rollouts > micro, optimizer=grpo.optimizer, lora=rank, kl=grpo.kl > 0,
        ) + (4 * model.parameters if grpo.averaged else 0)  # fmt: skip
        processes = 0 if rank else self.processes
        sampled = sampling_bytes(model, min(tokens, assumed(params)), rollouts // max(processes, 1))
        beside = idle_bytes(model, grpo.optimizer, rank)
        return max(trained + processes * sampler_bytes(model), beside + max(processes, 1) * sampled)

    @property
    def processes(self) -> int:
        """How many processes make rollouts; 0: the one that trains does."""
        from fusesearch.training.local import LEAST

        grpo = self.params.grpo
        processes = min(cores(), grpo.prompts_per_step * grpo.group // LEAST, grpo.prompts_per_step)
        return processes if processes > 1 and grpo.rollouts == "transformers" and not grpo.judge.model else 0


def assumed(params: Params) -> int:
    """Tokens of an episode that hours are computed with."""
    return params.agent.max_context_tokens // 8


def _memory(need: Need, host: float | None) -> Check:
    """Whether a step fits into the memory of this machine with rows of the assumed length, and with the longest."""
    micro, longest, usual = need.micros[0], need.longest, min(assumed(need.params), need.longest)
    least, most = need.at(usual, micro), need.at(longest, micro)
    detail = f"{gib(least):.1f} to {gib(most):.1f} GiB with rows of {usual:,} (assumed) to {longest:,} tokens"
    detail += f" at {need.stage}.micro_batch {micro} on {cores()} cores"
    if need.stage == "grpo" and need.processes:
        detail += f", where {need.processes} more processes sample"
    detail += f", this machine has {gib(host):.1f}" if host else ""
    if host is None or most <= host:
        return Check(f"{need.stage} memory", True, detail)
    hints = list(_smaller(need, host))
    if least <= host:
        return Check(f"{need.stage} memory", True, f"{detail}; for the longest {hints[0]}")
    return Check(f"{need.stage} memory", False, detail, " or ".join(hints))


def _smaller(need: Need, host: float) -> Iterator[str]:
    """Changes with which the longest rows fit into ``host`` bytes, and a machine where nothing has to change."""
    stage, usual, least = need.stage, need.micros[0], need.micros[-1]
    if fits := next((micro for micro in need.micros if need.at(need.longest, micro) <= host), 0):
        yield f"{stage}.micro_batch: {fits}"
    for micro in () if fits else dict.fromkeys((usual, least)):
        lengths = range(need.longest // STEP * STEP, STEP, -STEP)
        if length := next((length for length in lengths if need.at(length, micro) <= host), 0):
            length -= need.params.agent.max_new_tokens if stage == "grpo" else 0
            yield f"{need.key}: {length}" + ("" if micro == usual else f" at {stage}.micro_batch {micro}")
    section = getattr(need.params, stage)
    if not section.lora.rank and need.at(need.longest, least, lora=16) <= host:
        also = " and grpo.averaged: 0" if stage == "grpo" and section.averaged else ""
        yield f"{stage}.lora: {{rank: 16}}{also} at {stage}.micro_batch {least}"
    yield f"a machine of {whole_gib(need.at(need.longest, usual))} GiB"


def _hours(params: Params, model: Architecture, rate: float) -> Iterator[Check]:
    """Hours of training and sampling at ``rate`` FLOP a second."""
    length, grpo, evaluate = assumed(params), params.grpo, params.evaluate
    trained = params.select.max_trajectories or 1000
    episodes = (evaluate.max_instances or 1000) * evaluate.runs * sum(bool(cell.checkpoint) for cell in evaluate.cells.values())
    rollouts = grpo.prompts_per_step * grpo.group
    validated = (-(-grpo.steps // every) + 1) * grpo.validation.prompts if (every := grpo.validation.every) else 0
    spans = {
        "sft hours": (f"{trained} trajectories", training_flop(model, length, trained) * params.sft.epochs),
        "grpo hours": (
            f"{grpo.steps} steps of {rollouts} rollouts" + (f" and {validated} of validations" if validated else ""),
            training_flop(model, length, rollouts, SAMPLED + (grpo.kl > 0)) * grpo.steps
            + training_flop(model, length, validated) * SAMPLED / 3,
        ),
        "evaluate hours": (f"{episodes} episodes", training_flop(model, length, episodes) * SAMPLED / 3),
    }
    for name, (what, flop) in spans.items():
        low, high = (flop / (rate * share) / 3600 for share in SHARES)
        detail = f"{low:,.1f} to {high:,.1f} on {cores()} cores as busy as now: {what}, {length:,} tokens each"
        yield Check(name, True, detail)
