"""Quality against what it costs: which systems no other one beats in both, and the picture of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tasks.reporting.plots import SHAPES, drawn, markers


class Point(NamedTuple):
    """A system: cost (tokens or seconds), quality (percent), and whether it is a paper's, whose ``model`` stands beside it."""

    name: str
    cost: float
    quality: float
    paper: bool = False
    model: str = ""


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
        _papers(axes, [point for point in points if point.paper])
        style = markers(point.name for point in ours)
        for point in ours:
            axes.plot([point.cost], [point.quality], linestyle="", markersize=8, label=point.name, **style[point.name])
        best = front(ours)
        axes.step([point.cost for point in best], [point.quality for point in best], where="post", color="#555555", linewidth=1)
        axes.set(xlabel=cost, ylabel=quality, xscale="log" if logarithmic else "linear")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:.0e}"[0] in "25" else "")
        figure.legend(loc="outside right upper", fontsize=8)
    return output.getvalue()


def _papers(axes: Any, points: Sequence[Point]) -> None:
    """The papers' points: hollow, a shape for each system, the model's name small beside it."""
    for place, name in enumerate(dict.fromkeys(point.name for point in points)):
        rows = [point for point in points if point.name == name]
        costs, qualities = [point.cost for point in rows], [point.quality for point in rows]
        shape = (*SHAPES, "<", ">", "p")[place % (len(SHAPES) + 3)]
        axes.plot(costs, qualities, shape, color="#888888", markerfacecolor="white", markersize=6, label=f"{name} (paper)")
        for point in rows:
            axes.annotate(
                point.model, (point.cost, point.quality), xytext=(5, -3), textcoords="offset points", size=6, color="#777777"
            )
