"""Rows of the table, and how two sides are timed against each other."""

from __future__ import annotations

import operator
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Say = Callable[[str], None]
Side = Callable[[], float]
"""Does the work once and returns the seconds it took."""

_HOLDS = {"<=": operator.le, ">=": operator.ge, "=": operator.eq}


@dataclass(frozen=True)
class Goal:
    """What a value is to be: at most, at least or exactly ``limit``."""

    sense: Literal["<=", ">=", "="]
    limit: float

    def holds(self, value: float) -> bool:
        """Whether ``value`` reaches it."""
        return bool(_HOLDS[self.sense](value, self.limit))

    def __str__(self) -> str:
        return f"{self.sense} {self.limit:.4g}"


@dataclass(frozen=True)
class Row:
    """One line: a median ratio with its range, or a count. ``detail`` says what both sides took, or what was counted."""

    what: str
    value: float
    low: float | None = None
    high: float | None = None
    goal: Goal | None = None
    detail: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None where there is none."""
        return None if self.goal is None else self.goal.holds(self.value)


def silent(_: str) -> None:
    """A listener that says nothing."""


def timed(work: Callable[[], object]) -> Side:
    """``work`` as a side that is timed from outside."""

    def run() -> float:
        started = time.perf_counter()
        work()
        return time.perf_counter() - started

    return run


def interleave(sides: Mapping[str, Side], repeats: int, say: Say = silent) -> dict[str, list[float]]:
    """Seconds of each side, ``repeats`` times in turn, after one round that is not counted.

    Each round begins with another side, so that none has the warmer caches.
    """
    names = list(sides)
    for name in names:
        sides[name]()
    taken: dict[str, list[float]] = {name: [] for name in names}
    for number in range(repeats):
        say(f"round {number + 1} of {repeats}")
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            taken[name].append(sides[name]())
    return taken


def ratio_row(what: str, over: Sequence[float], under: Sequence[float], goal: Goal | None, detail: str) -> Row:
    """``over`` divided by ``under``, round by round: the median ratio and its range."""
    ratios = [a / b for a, b in zip(over, under, strict=True)]
    return Row(what, statistics.median(ratios), min(ratios), max(ratios), goal, f"{detail}; {len(ratios)} rounds")


def milliseconds(seconds: Sequence[float]) -> str:
    """The median, for people."""
    value = statistics.median(seconds) * 1000
    return f"{value:.3f} ms" if value < 1 else f"{value:.1f} ms" if value < 1000 else f"{value / 1000:.2f} s"
