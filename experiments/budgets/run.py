"""Evaluates checkpoints under turn budgets, in parallel and with one call a turn, and with enforced calls per turn."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from experiments.budgets.enforced import Enforced
from fusesearch.agents.models.base import Sampling
from fusesearch.agents.models.loading import load_model
from fusesearch.core.config import Params
from fusesearch.core.schema import Instance, Score
from fusesearch.evaluation.harness import evaluate
from fusesearch.evaluation.metrics import METRICS
from fusesearch.evaluation.statistics import Measured, compare, measure
from fusesearch.localizers.base import Setup
from fusesearch.localizers.registry import make_localizer
from fusesearch.search.snapshots import SnapshotStore, instance_snapshot

TURNS = (2, 3, 4, 5, 8, 12)
CALLS = (1, 2, 4, 8)
FIGURES = (
    "f1_macro", "file_macro_f1", "function_macro_f1", "turns", "calls", "calls_per_turn", "redundancy", "redundancy_call",
    "tokens_billed",
)  # fmt: skip

Arms = dict[str, dict[int, list[Score]]]
"""Scores by arm and seed."""


@dataclass(frozen=True)
class Given:
    """Held-out ``instances``, their clones, and where the episodes lie: evaluated ones are not run again.

    ``students`` are checkpoints by name and seed; those whose name begins with ``sequential`` make one call a turn.
    """

    instances: Sequence[Instance]
    repos: Path
    students: Mapping[str, Mapping[int, Path]]
    episodes: Path
    params: Params


def budgets(given: Given, turns: Sequence[int] = TURNS, calls: Sequence[int] = CALLS) -> dict[str, Any]:
    """The figures of every student under every budget, and of the parallel ones with so many enforced calls in each turn."""
    under: Arms = {}
    enforced: Arms = {}
    for student, by_seed in given.students.items():
        for seed, checkpoint in by_seed.items():
            for most in turns:
                arm = f"{student}, {most} turns"
                under.setdefault(arm, {})[seed] = _scores(given, checkpoint, student, seed, arm, max_turns=most)
            for least in calls if not student.startswith("sequential") else ():
                arm = f"{student}, {least} calls"
                enforced.setdefault(arm, {})[seed] = _scores(given, checkpoint, student, seed, arm, calls=least)
    other = {name: name.replace("parallel", "sequential") for name in given.students if name.startswith("parallel")}
    pairs = [(f"{first}, {most} turns", f"{second}, {most} turns") for first, second in other.items() for most in turns]
    wider = [(f"{first}, {least} calls", f"{first}, {calls[0]} calls") for first in other for least in calls[1:]]
    return {
        "instances": len(given.instances),
        "seeds": {student: sorted(by_seed) for student, by_seed in given.students.items()},
        "turns": _figures(under), "calls": _figures(enforced),
        "turns, differences": _differences(under, pairs, ("f1_macro", "file_macro_f1", "function_macro_f1", "tokens_billed")),
        "calls, differences": _differences(enforced, wider, ("f1_macro", "redundancy", "redundancy_call", "tokens_billed")),
    }  # fmt: skip


def _scores(given: Given, checkpoint: Path, student: str, seed: int, arm: str, *, calls: int = 0, **changes: Any) -> list[Score]:
    section, agent = given.params.evaluate, given.params.agent.model_copy(update=changes)
    model = load_model(checkpoint=checkpoint, dtype=given.params.model.dtype)
    setup = Setup(
        model=Enforced(model, calls) if calls else model, agent=agent, tools=given.params.tools,
        sampling=Sampling(temperature=section.temperature, max_new_tokens=agent.max_new_tokens),
    )  # fmt: skip
    name = "fusesearch-sequential" if student.startswith("sequential") else "fusesearch"
    snapshots = partial(instance_snapshot, SnapshotStore(given.episodes / "snapshots"), given.repos)
    done = asyncio.run(
        evaluate(
            make_localizer(name, setup), given.instances, snapshots, journal=given.episodes / f"{arm} of seed {seed}.jsonl",
            runs=section.runs, concurrency=section.concurrency, seed=seed, arm=arm,
        )
    )  # fmt: skip
    return done.scores


def _figures(arms: Arms) -> list[dict[str, Any]]:
    return [
        {"arm": arm, **{key: _interval(measure(scores, METRICS[key].statistic)) for key in FIGURES}}
        for arm, scores in arms.items()
    ]


def _interval(found: Measured | None) -> dict[str, float | None] | None:
    return {"estimate": found.estimate, "low": found.low, "high": found.high} if found else None


def _differences(arms: Arms, pairs: Sequence[tuple[str, str]], keys: Sequence[str]) -> list[dict[str, Any]]:
    """Holm's correction is over the pairs of a metric."""
    known = [pair for pair in pairs if set(pair) <= arms.keys()]
    return [row.model_dump(mode="json") for row in compare(arms, known, {key: METRICS[key].statistic for key in keys})]
