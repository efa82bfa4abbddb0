"""Quality against what it costs: which systems no other one beats in both, and the picture of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tasks.evaluation.plots import COLOURS, SHAPES, drawn


class Point(NamedTuple):
    """A system: cost (tokens or seconds), quality (percent), and whether it is a paper's."""

    name: str
    cost: float
    quality: float
    paper: bool = False


def front(points: Sequence[Point]) -> list[Point]:
    """The points that no other one beats, cheapest first: none costs less for at least the quality, or the same for more."""
    best: list[Point] = []
    for point in sorted(points, key=lambda point: (point.cost, -point.quality)):
        if not best or point.quality > best[-1].quality:
            best.append(point)
    return best


def scatter(points: Sequence[Point], cost: str, quality: str) -> str | None:
    """SVG of quality by cost on a logarithmic axis; ours filled with their front, the papers' hollow. ``None`` without ours."""
    ours = [point for point in points if not point.paper]
    if not ours:
        return None
    logarithmic = all(point.cost > 0 for point in points)
    with drawn(10, 6) as (figure, output):
        axes = figure.add_subplot()
        for point in (point for point in points if point.paper):
            axes.plot(point.cost, point.quality, "o", color="#888888", markerfacecolor="white", markersize=5)
            axes.annotate(
                point.name, (point.cost, point.quality), xytext=(4, -8), textcoords="offset points", size=6, color="#777777"
            )
        for place, point in enumerate(ours):
            style: dict[str, Any] = {"color": COLOURS[place % len(COLOURS)], "marker": SHAPES[place % len(SHAPES)]}
            axes.plot([point.cost], [point.quality], linestyle="", markersize=8, label=point.name, **style)
        best = front(ours)
        axes.step([point.cost for point in best], [point.quality for point in best], where="post", color="#555555", linewidth=1)
        axes.set(xlabel=cost, ylabel=quality, xscale="log" if logarithmic else "linear")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:.0e}"[0] in "25" else "")
        figure.legend(loc="outside right upper", fontsize=8)
    return output.getvalue()
