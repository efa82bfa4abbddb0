"""Candidate trajectories as points in the plane of F1 and e, and what given thresholds would leave of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Literal

import numpy as np

from dashboards.reading.artifacts import cached, rows_of
from tasks.pipeline.places import MAIN

Scope = Literal["turn", "call"]
UNANSWERED = "no_answer"


@dataclass(frozen=True)
class Point:
    """A scored candidate; ``outcome`` is what selection said of it."""

    instance_id: str
    f1: float
    by_turn: float
    by_call: float
    outcome: str

    def efficiency(self, scope: Scope) -> float:
        """e under a history scope."""
        return self.by_turn if scope == "turn" else self.by_call

    def passes(self, min_f1: float, min_efficiency: float, scope: Scope) -> bool:
        """Whether it answered and reaches both thresholds; duplicates and the limit are not looked at."""
        return self.outcome != UNANSWERED and self.f1 >= min_f1 and self.efficiency(scope) >= min_efficiency


@dataclass(frozen=True)
class Left:
    """What thresholds leave: candidates, instances, and means of F1 and e (``None`` where nothing stays)."""

    candidates: int
    instances: int
    f1: float | None
    efficiency: float | None


def points(root: Path) -> list[Point]:
    """All scored candidates. Raises :class:`ArtifactError` where selection has not run."""
    return cached(root / MAIN["select.plane"], "select", _points)


def left(found: Sequence[Point], min_f1: float, min_efficiency: float, scope: Scope) -> Left:
    """What stays under two thresholds."""
    stay = [point for point in found if point.passes(min_f1, min_efficiency, scope)]
    return Left(
        len(stay),
        len({point.instance_id for point in stay}),
        fmean(point.f1 for point in stay) if stay else None,
        fmean(point.efficiency(scope) for point in stay) if stay else None,
    )


def grid(found: Sequence[Point], steps: Sequence[float], scope: Scope) -> list[list[int]]:
    """How many stay for every pair of thresholds: a row per threshold of e, in it a number per threshold of F1."""
    answered = [point for point in found if point.outcome != UNANSWERED]
    f1 = np.array([point.f1 for point in answered])
    efficiency = np.array([point.efficiency(scope) for point in answered])
    return [[int(((f1 >= least) & (efficiency >= e)).sum()) for least in steps] for e in steps]


def places(found: Sequence[Point], min_f1: float, min_efficiency: float, scope: Scope) -> list[dict[str, float | int | str]]:
    """Points that lie together as one row ``f1, efficiency, count, outcome``, rounded to hundredths."""
    groups: Counter[tuple[float, float, str]] = Counter()
    for point in found:
        outcome = "stays" if point.passes(min_f1, min_efficiency, scope) else "goes"
        groups[round(point.f1, 2), round(point.efficiency(scope), 2), outcome] += 1
    return [{"f1": f1, "efficiency": e, "count": count, "outcome": outcome} for (f1, e, outcome), count in groups.items()]


def _points(path: Path) -> list[Point]:
    return [
        Point(row["instance_id"], float(row["f1"]), float(row["efficiency"]), float(row["efficiency_call"] or 0), row["outcome"])
        for row in rows_of(path, ("instance_id", "f1", "efficiency", "efficiency_call", "outcome"))
        if row["f1"] and row["efficiency"]
    ]
