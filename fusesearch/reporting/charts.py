"""The charts of all pages: Okabe and Ito's colours, each with a second cue (shape or dash), and a legend on every chart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

import altair as alt
import pandas as pd

from fusesearch.evaluation.metrics import Metric
from fusesearch.reporting.page import Figure
from fusesearch.reporting.table import ARMS, MINUS

COLOURS = ("#000000", "#E69F00", "#0072B2", "#009E73", "#CC79A7", "#D55E00", "#56B4E9")
BLUE, RED, GREY = "#0072B2", "#D55E00", "#555555"
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right")
DASHES = ([1, 0], [6, 3], [8, 3, 2, 3], [2, 3], [12, 3], [6, 2, 2, 2, 2, 2], [3, 1])
DECIDED, UNDECIDED = "decided after Holm's correction", "undecided"
"""Verdicts of :func:`difference_panels`."""
LEAST_EPISODES = 5
""":func:`profile` leaves out turns that fewer episodes reached."""

WIDTHS = {"": 760, "-narrow": 340}
"""Pixels of a chart with its labels, on a page and on a phone, by the ending of the name of its file."""
LABELS = {"": 240, "-narrow": 120}
"""Pixels of the longest label beside an axis."""

Chart = alt.Chart | alt.LayerChart | alt.FacetChart | alt.ConcatChart | alt.VConcatChart
Rows = Sequence[Mapping[str, Any]]


def figure(name: str, caption: str, chart: Chart | None) -> list[Figure]:
    """The chart as a figure of a page; empty without a chart."""
    return [] if chart is None else [Figure(name, caption, chart, svg)]


def svg(chart: Chart, form: str = "") -> str:
    """A chart as SVG, as wide as :data:`WIDTHS` says, labels and all."""
    import vl_convert

    with alt.data_transformers.enable("default", max_rows=None):
        spec = chart.to_dict()
    config, width, labels = spec["config"], WIDTHS[form], LABELS[form]
    config["axis"]["labelLimit"] = labels
    config["axisXQuantitative"] = {"tickCount": 4 if form else 6}  # of wider words of other fonts more would lie over each other
    config["legend"] |= {"columns": 3, "labelLimit": 220} if not form else {"columns": 1, "labelLimit": width - 40}
    if "vconcat" in spec:  # Vega-Lite fits only single views: here all have labels of one width
        config["axisY"] = {"minExtent": labels, "maxExtent": labels}
        for panel in spec["vconcat"]:
            panel["width"] = width - labels - 25
    else:
        spec |= {"width": width, "autosize": {"type": "fit-x", "contains": "padding"}}
    return vl_convert.vegalite_to_svg(spec)


def styles(names: Iterable[str]) -> dict[str, tuple[int, int]]:
    """For each name the index of its colour, and of its dash and shape. Up to 49 names differ in one of the two.

    The arms of a reproduction look the same in every figure.
    """
    names, known, size = list(names), list(ARMS), len(COLOURS)
    found = {name: (known.index(name), known.index(name)) for name in names if name in ARMS}
    every = ((colour, (colour + turn) % size) for turn in count() for colour in range(size))
    free = (style for style in every if style not in found.values())
    return {name: found[name] if name in found else next(free) for name in dict.fromkeys(names)}


def dressed(chart: Chart) -> Chart:
    """The chart with the style of all charts."""
    return (
        chart.configure_view(stroke=None)
        .configure_axis(labelFontSize=12, titleFontSize=12, gridColor="#dddddd")
        .configure_legend(labelFontSize=12, titleFontSize=12, orient="top")
    )


def scales(names: Sequence[str], labels: Mapping[str, str]) -> tuple[alt.Scale, alt.Scale, alt.Scale]:
    """Scales of colour, shape and dash over the labels of names, the same in all figures."""
    chosen = styles(names)
    domain = [labels.get(name, name) for name in chosen]
    colours = [COLOURS[colour] for colour, _ in chosen.values()]
    shapes, dashes = ([values[cue] for _, cue in chosen.values()] for values in (SHAPES, DASHES))
    return alt.Scale(domain=domain, range=colours), alt.Scale(domain=domain, range=shapes), alt.Scale(domain=domain, range=dashes)


def estimates(rows: Rows, x: str, seeds: Rows = ()) -> Chart:
    """Figures with intervals, and below them a tick for each seed (``arm, who, value``).

    Rows: ``arm, who, value, low, high``; ``who`` is "ours" or a model of the paper.
    """
    who = list(dict.fromkeys(str(row["who"]) for row in rows))
    arms = list(dict.fromkeys(str(row["arm"]) for row in rows))
    colour, shape, _ = scales(who, {})
    place: dict[str, Any] = {"y": alt.Y("arm:N", sort=arms, title=None), "yOffset": alt.YOffset("who:N", sort=who)}
    base = alt.Chart(pd.DataFrame(rows)).encode(**place)
    whiskers = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title=x), x2="high:Q", color=alt.Color("who:N", scale=colour, title=None)
    )
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=alt.X("value:Q", title=x, scale=alt.Scale(zero=False)),
        color=alt.Color("who:N", scale=colour, title=None),
        shape=alt.Shape("who:N", scale=shape, title=None),
        tooltip=["arm:N", "who:N", *_numbers(".2f")],
    )  # fmt: skip
    ticks = (
        [alt.Chart(pd.DataFrame(seeds)).mark_tick(color=GREY, height=8, yOffset=7).encode(x="value:Q", **place)] if seeds else []
    )
    return dressed(alt.layer(whiskers, *ticks, points).properties(height=alt.Step(18)))


def difference_panels(parts: Sequence[tuple[str, Rows]]) -> Chart | None:
    """Paired differences with intervals, a panel for each title in a column, or ``None``.

    Rows: ``pair, value, low, high, verdict`` (:data:`DECIDED` or :data:`UNDECIDED`), and optionally ``paper`` and ``margin``.
    """
    drawn = [_differences(rows, title).properties(height=alt.Step(34)) for title, rows in parts if rows]
    return dressed(alt.vconcat(*drawn)) if drawn else None


def _differences(rows: Rows, x: str) -> Any:
    pairs = list(dict.fromkeys(str(row["pair"]) for row in rows))
    domain = [DECIDED, UNDECIDED]
    colour = alt.Color("verdict:N", scale=alt.Scale(domain=domain, range=[BLUE, RED]), title=None)
    shape = alt.Shape("verdict:N", scale=alt.Scale(domain=domain, range=["circle", "square"]), title=None)
    first, second = (f"split(datum.label, ' {MINUS} ')[{part}]" for part in (0, 1))
    two_lines = alt.Axis(labelExpr=f"[{first}, '{MINUS} ' + {second}]", labelLineHeight=13)
    base = alt.Chart(pd.DataFrame(rows)).encode(y=alt.Y("pair:N", sort=pairs, title=None, axis=two_lines))
    zero = alt.Chart(pd.DataFrame([{"zero": 0}])).mark_rule(color=GREY).encode(x="zero:Q")
    whiskers = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=x), x2="high:Q", color=colour)
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=alt.X("value:Q", title=x), color=colour, shape=shape,
        tooltip=["pair:N", *_numbers("+.2f")],
    )  # fmt: skip
    layers = [zero, whiskers, points]
    if any(row.get("paper") is not None for row in rows):
        layers.append(base.mark_point(shape="diamond", color=RED, size=60, opacity=1).encode(x="paper:Q"))
    if any(row.get("margin") is not None for row in rows):
        layers.append(base.mark_tick(color=RED, thickness=2).encode(x="margin:Q"))
    return alt.layer(*layers)


def whisker(found: Any, of: Metric) -> dict[str, float | None]:
    """Value and bounds for a row of :func:`estimates` or :func:`difference_panels`, in the unit of the heading.

    ``found`` is any object with ``estimate``, ``low`` and ``high``.
    """
    values = (None if value is None else value * of.factor for value in (found.estimate, found.low, found.high))
    return dict(zip(("value", "low", "high"), values, strict=True))


def _numbers(form: str) -> list[alt.Tooltip]:
    return [alt.Tooltip(f"{name}:Q", format=form) for name in ("value", "low", "high")]


def profile(rows: Rows, names: Sequence[str], labels: Mapping[str, str]) -> Chart | None:
    """Calls by turn index, a line with marks per arm; ``None`` if fewer than :data:`LEAST_EPISODES` reached every turn.

    Rows: ``name`` (a label), ``turn, calls, episodes``, and with several seeds ``low, high``, drawn as a band.
    """
    rows = [row for row in rows if row["episodes"] >= LEAST_EPISODES]
    if not rows:
        return None
    colour, shape, dash = scales(names, labels)
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("turn:O", title="Turn", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("calls:Q", title="Calls in the turn, mean"),
        color=alt.Color("name:N", scale=colour, title=None),
        tooltip=["name:N", "turn:O", alt.Tooltip("calls:Q", format=".2f"), "episodes:Q"],
    )
    line = base.mark_line().encode(strokeDash=alt.StrokeDash("name:N", scale=dash, title=None))
    marks = base.mark_point(filled=True, size=60, opacity=1).encode(shape=alt.Shape("name:N", scale=shape, title=None))
    bands = [base.mark_area(opacity=0.15).encode(y="low:Q", y2="high:Q")] if "low" in rows[0] else []
    return dressed(alt.layer(*bands, line, marks).properties(height=260))
