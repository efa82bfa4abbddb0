"""Runs a localizer that asks a model, with a policy behind real HTTP in the model's place."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.benchmarks.localizers.endpoint import PolicyServer
from tasks.agents.models.openai_compatible import OpenAICompatibleModel
from tasks.core.config import Agent, Tools
from tasks.core.schema import Instance, Score, Trajectory
from tasks.evaluation.harness import Evaluation, Repositories, evaluate
from tasks.localizers.base import Setup
from tasks.localizers.registry import make_localizer
from tests.fakes.policies import policy_named

HEADER = (
    "localizer", "policy", "episodes", "repositories", "ended", "requests per episode", "longest prompt (tokens)",
    "calls by tool", "failed calls", "e, turn / call", "tokens context / billed", "seconds", "F1 of the stand-in",
)  # fmt: skip


@dataclass
class Drive:
    """Results of one localizer under one policy; ``faults`` are what the policy itself raised."""

    localizer: str
    style: str
    evaluation: Evaluation
    served: Counter[str] = field(default_factory=Counter)
    longest: int = 0
    faults: list[str] = field(default_factory=list)


async def drive(
    name: str,
    style: str,
    instances: Sequence[Instance],
    repositories: Repositories,
    *,
    fail: float = 0.0,
    retries: int = 6,
) -> Drive:
    """Run localizer ``name`` on every instance against the policy ``style`` of its name, through the real client."""
    agent = Agent()
    with (
        tempfile.TemporaryDirectory(prefix="fusesearch-driven-") as folder,
        PolicyServer(policy_named(name, style), fail=fail, context_tokens=2 * agent.max_context_tokens) as server,
    ):
        model = OpenAICompatibleModel(f"{name}:{style}", server.url, retries=retries, backoff_seconds=0.05)
        try:
            localizer = make_localizer(name, Setup(model, agent, Tools()))
            done = await evaluate(localizer, instances, repositories, journal=Path(folder, "journal"), concurrency=4)
        finally:
            await model.close()
    return Drive(name, style, done, server.served, server.longest, server.faults)


def as_row(drive: Drive) -> list[str]:
    """One row of the table under :data:`HEADER`."""
    trajectories, scores = drive.evaluation.trajectories, drive.evaluation.scores
    ended = Counter(trajectory.stop for trajectory in trajectories)
    failed = [seen.error is not None for one in trajectories for turn in one.turns for seen in turn.observations]
    requests = [len(trajectory.turns) for trajectory in trajectories]
    return [
        drive.localizer,
        drive.style,
        str(len(trajectories)),
        str(len({trajectory.repo for trajectory in trajectories})),
        ", ".join(f"{count} {stop}" for stop, count in ended.most_common()),
        f"{fmean(requests):.1f} ({min(requests)} to {max(requests)})",
        f"{drive.longest:,}",
        _calls(trajectories),
        f"{sum(failed)} of {len(failed)}",
        f"{_mean(scores, 'efficiency', '.2f')} / {_mean(scores, 'efficiency_call', '.2f')}",
        f"{_mean(scores, 'tokens_context', ',.0f')} / {_mean(scores, 'tokens_billed', ',.0f')}",
        _mean(scores, "seconds", ".2f"),
        _mean(scores, "f1", ".2f"),
    ]


def problems(drive: Drive) -> list[str]:
    """Faults of the policy, and episodes that errored though the endpoint never failed."""
    errors = [f"{one.instance_id}: {one.error}" for one in drive.evaluation.trajectories if one.error is not None]
    failing = sum(drive.served.values()) > drive.served["answered"]
    return drive.faults + ([] if failing else errors)


def _calls(trajectories: Sequence[Trajectory]) -> str:
    names = Counter(call.name[:30] or "(unreadable)" for one in trajectories for turn in one.turns for call in turn.calls)
    return ", ".join(f"{count} {name}" for name, count in names.most_common(9)) or "none"


def _mean(scores: Sequence[Score], name: str, form: str) -> str:
    values = [value for score in scores if (value := getattr(score, name)) is not None]
    return format(fmean(values), form) if values else "–"  # noqa: RUF001


def markdown(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)
