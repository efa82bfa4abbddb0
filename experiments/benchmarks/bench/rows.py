"""Rows of the table, the timing of two sides against each other, and ``RESULTS.md``."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Say = Callable[[str], None]
Side = Callable[[], float]
"""Does the work once and returns the seconds it took."""

_MARKS = {True: "yes", False: "no", None: ""}
_HEAD = """\
# Results of the benchmarks

`{command}`, {date}. Ratios are medians over rounds in which the sides take turns, with their range; below 1, the first
side is the faster one. The modules of this folder say what they measure.

{machine}
"""


@dataclass(frozen=True)
class Goal:
    """A bound on a value: at most or at least ``limit``."""

    sense: Literal["<=", ">="]
    limit: float

    def holds(self, value: float) -> bool:
        """Whether ``value`` meets it."""
        return value <= self.limit if self.sense == "<=" else value >= self.limit

    def __str__(self) -> str:
        return f"{self.sense} {self.limit:.4g}"


@dataclass(frozen=True)
class Measure:
    """One line: a median ratio with its range, or a count. ``detail`` gives both sides' times, or the things counted."""

    what: str
    value: float
    low: float | None = None
    high: float | None = None
    goal: Goal | None = None
    detail: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the value meets the goal; None without a goal."""
        return None if self.goal is None else self.goal.holds(self.value)


Results = dict[str, list[Measure]]


def silent(_: str) -> None:
    """A listener that prints nothing."""


def timed(work: Callable[[], object]) -> Side:
    """``work`` as a side."""

    def run() -> float:
        started = time.perf_counter()
        work()
        return time.perf_counter() - started

    return run


def interleave(sides: Mapping[str, Side], repeats: int, say: Say = silent) -> dict[str, list[float]]:
    """Seconds of each side, ``repeats`` times in turn, after an uncounted round.

    Each round starts with another side, so that no side always has the warmer caches.
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


def ratio_row(what: str, over: Sequence[float], under: Sequence[float], goal: Goal | None, detail: str) -> Measure:
    """``over`` divided by ``under``, round by round: the median ratio and its range."""
    ratios = [a / b for a, b in zip(over, under, strict=True)]
    return Measure(what, statistics.median(ratios), min(ratios), max(ratios), goal, f"{detail}; {len(ratios)} rounds")


def milliseconds(seconds: Sequence[float]) -> str:
    """The median as text."""
    value = statistics.median(seconds) * 1000
    return f"{value:.3f} ms" if value < 1 else f"{value:.1f} ms" if value < 1000 else f"{value / 1000:.2f} s"


def as_markdown(results: Results, machine: dict[str, str], date: str, command: str) -> str:
    """The committed page."""
    facts = "\n".join(f"- {name}: {text}" for name, text in machine.items())
    parts = [_HEAD.format(command=command, date=date, machine=facts)]
    for subject, rows in results.items():
        lines = [
            f"| {row.what} | {value(row)} | {spread(row)} | {row.goal or ''} | {_MARKS[row.met]} | {row.detail} |" for row in rows
        ]
        head = [f"## {subject}", "", "| what | value | range | goal | met | detail |", "|---|---|---|---|---|---|"]
        parts.append("\n".join([*head, *lines, ""]))
    return "\n".join(parts)


def value(row: Measure) -> str:
    """A count as an integer, a measured figure with three digits."""
    return f"{row.value:,.0f}" if row.low is None and float(row.value).is_integer() else _figure(row.value)


def spread(row: Measure) -> str:
    """Lowest and highest."""
    return "" if row.low is None or row.high is None else f"{_figure(row.low)} to {_figure(row.high)}"


def _figure(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}" if number >= 10 else f"{number:.2f}"
