"""Selects the candidates to learn from: F1 >= rho_F and e >= rho_e (FuseSearch equation 5).

What a student learns to write is text: native calls of a teacher become text here, and a candidate whose text does not read as
exactly its calls and its answer is dropped as ``unreadable``.
On questions the share of the answer that is right takes the place of F1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fusesearch.agents.conversation import as_text, reads_back
from fusesearch.core.config import Select
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Score, Trajectory, Truth
from fusesearch.evaluation.metrics import Scope, efficiency_of, quality_of, score_trajectory

REASONS = ("errored", "no_answer", "unreadable", "low_f1", "low_efficiency", "duplicate", "over_limit")
"""Reasons to drop a candidate, in the order of the checks; the first that applies counts."""


@dataclass(frozen=True)
class Judged:
    """A candidate, its score, and the reason why it was dropped (``None`` if it is kept)."""

    trajectory: Trajectory
    score: Score
    reason: str | None


def select(
    candidates: Iterable[Trajectory],
    truths: Mapping[str, Truth],
    rules: Select,
    scope: Scope = "turn",
    scorer: Callable[..., Score] = score_trajectory,
) -> list[Judged]:
    """Judge every candidate, in order.

    Args:
        candidates: trajectories of the teacher, those of one instance in any order.
        truths: truth by instance id.
        rules: the two thresholds and the limit.
        scope: history H of e.
        scorer: the scorer of the candidates' environment.

    Raises:
        DataError: the instance of a candidate is unknown.
    """
    judged = []
    for trajectory in candidates:
        if trajectory.instance_id not in truths:
            raise DataError(f"{trajectory.instance_id}: a candidate of an unknown instance; run synthesize again")
        score = scorer(trajectory, truths[trajectory.instance_id], scope=scope)
        written = as_text(trajectory)
        judged.append(Judged(written, score, _reason(written, score, rules, scope)))
    return _limit(_best(_distinct(judged), rules.per_instance, scope), rules.max_trajectories)


def kept(judged: Iterable[Judged]) -> list[Trajectory]:
    """The selected trajectories."""
    return [row.trajectory for row in judged if row.reason is None]


def drop_table(judged: Iterable[Judged]) -> dict[str, int]:
    """Number of dropped candidates per reason, including reasons with 0."""
    counts = Counter(row.reason for row in judged)
    return {reason: counts[reason] for reason in REASONS}


def plane(judged: Iterable[Judged]) -> list[dict[str, Any]]:
    """One row per scored candidate in the plane of F1 and e, for plots."""
    return [
        {
            "instance_id": row.trajectory.instance_id,
            "guidance": row.trajectory.guidance,
            "f1": _rounded(quality_of(row.score)),
            "efficiency": _rounded(row.score.efficiency),
            "efficiency_call": _rounded(row.score.efficiency_call),
            "outcome": row.reason or "kept",
        }
        for row in judged
        if row.score.error is None
    ]


def _reason(trajectory: Trajectory, score: Score, rules: Select, scope: Scope) -> str | None:
    if score.error is not None:
        return "errored"
    if trajectory.answer is None or not (trajectory.answer.modify or trajectory.answer.text):
        return "no_answer"
    if not reads_back(trajectory):
        return "unreadable"
    if (quality_of(score) or 0.0) < rules.min_f1:
        return "low_f1"
    return "low_efficiency" if efficiency_of(score, scope) < rules.min_efficiency else None


def _distinct(judged: Sequence[Judged]) -> list[Judged]:
    """Drop a kept candidate whose text equals that of an earlier one of its instance."""
    seen: set[tuple[str, ...]] = set()
    result = []
    for row in judged:
        text = (row.trajectory.instance_id, *(turn.text for turn in row.trajectory.turns))
        result.append(replace(row, reason="duplicate") if row.reason is None and text in seen else row)
        if row.reason is None:
            seen.add(text)
    return result


def _best(judged: Sequence[Judged], most: int | None, scope: Scope) -> list[Judged]:
    """Keep at most ``most`` of every instance: those of the highest F1, then e, then the first."""
    found: dict[str, list[Judged]] = {}
    for row in judged:
        if row.reason is None:
            found.setdefault(row.trajectory.instance_id, []).append(row)
    for rows in found.values():
        rows.sort(key=lambda row: (-(quality_of(row.score) or 0.0), -efficiency_of(row.score, scope)))
    over = {id(row) for rows in found.values() for row in rows[most or len(rows) :]}
    return [replace(row, reason="over_limit") if id(row) in over else row for row in judged]


def _limit(judged: Sequence[Judged], most: int | None) -> list[Judged]:
    """Keep at most ``most``: the first of every instance before the second of any, with repositories taking turns."""
    if most is None:
        return list(judged)
    taken: Counter[str] = Counter()
    places: dict[str, dict[str, int]] = {}
    rank: dict[int, tuple[int, int, int]] = {}
    for index, row in enumerate(judged):
        if row.reason is None:
            instance, neighbours = row.trajectory.instance_id, places.setdefault(row.trajectory.repo, {})
            rank[index] = (taken[instance], neighbours.setdefault(instance, len(neighbours)), index)
            taken[instance] += 1
    chosen = set(sorted(rank, key=rank.__getitem__)[:most])
    return [replace(row, reason="over_limit") if row.reason is None and i not in chosen else row for i, row in enumerate(judged)]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
