"""Plots of the data card as SVG text."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BLUE, _GREY = "#0072B2", "#999999"
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "fusesearch",
    "font.size": 10,
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
}


def funnel(steps: Sequence[tuple[str, int]]) -> str:
    """Pairs left after each rule, from all raw pairs down to those kept; (rule, dropped) with ``raw pairs`` first."""
    left = 0
    names: list[str] = []
    values: list[int] = []
    for name, count in steps:
        left = count if not names else left - count
        names.append(name if not values else f"{name} (-{count:,})")
        values.append(left)
    with _figure(8, 0.6 + 0.3 * len(names)) as (figure, output):
        axes = figure.add_subplot()
        _bars(axes, names, values)
        axes.set(title="Pairs left after each rule", xlabel="pairs")
    return output.getvalue()


def shares(counts: Mapping[str, int], title: str) -> str:
    """One bar for each name, the largest first."""
    with _figure(8, 0.8 + 0.28 * len(counts)) as (figure, output):
        axes = figure.add_subplot()
        _bars(axes, list(counts), list(counts.values()))
        axes.set(title=title, xlabel="instances")
    return output.getvalue()


def columns(counts: Mapping[str, int], title: str, label: str) -> str:
    """One column for each name, in the order given."""
    with _figure(8, 2.6) as (figure, output):
        axes = figure.add_subplot()
        axes.bar(range(len(counts)), list(counts.values()), color=_BLUE)
        step = max(1, len(counts) // 16)
        axes.set_xticks(range(0, len(counts), step), list(counts)[::step], rotation=30 if len(counts) > 8 else 0)
        axes.set(title=title, xlabel=label, ylabel="instances")
    return output.getvalue()


def distributions(lengths: Mapping[str, Sequence[int]]) -> str:
    """A histogram for each measure, on a logarithmic axis where the values span more than two powers of ten."""
    import numpy as np

    with _figure(8, 2.4 * ((len(lengths) + 1) // 2)) as (figure, output):
        for place, (name, values) in enumerate(lengths.items(), 1):
            axes = figure.add_subplot((len(lengths) + 1) // 2, 2, place)
            array = np.maximum(np.asarray(values, dtype=float), 1)
            wide = array.max() > 100 * array.min()
            top = array.max() * 1.01
            edges = np.geomspace(array.min(), top, 30) if wide else np.arange(0.5, min(top, 60) + 1)
            axes.hist(array, bins=edges.tolist(), color=_BLUE)
            axes.set(xscale="log" if wide else "linear", xlabel=name, ylabel="instances")
    return output.getvalue()


def _bars(axes: Axes, names: Sequence[str], values: Sequence[int]) -> None:
    places = range(len(names))
    axes.barh(places, values, color=_BLUE)
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    for place, value in zip(places, values, strict=True):
        axes.text(value, place, f" {value:,}", va="center", color=_GREY, fontsize=8)


@contextmanager
def _figure(width: float, height: float) -> Iterator[tuple[Figure, io.StringIO]]:
    """A figure drawn without a display; its SVG is in the text once the block ends."""
    import matplotlib
    from matplotlib.figure import Figure

    output = io.StringIO()
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, output
        figure.savefig(output, format="svg", metadata={"Date": None, "Creator": None})
