"""Charts of all pages: Okabe and Ito's colours, a second cue (shape or dash) beside each colour, a legend on every one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from tasks.reporting.columns import Column
from tasks.reporting.plots import COLOURS, places

SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right")
DASHES = ([1, 0], [6, 3], [8, 3, 2, 3], [2, 3], [12, 3], [6, 2, 2, 2, 2, 2], [3, 1])
DECIDED, UNDECIDED = "decided after Holm's correction", "undecided"
"""Verdicts of :func:`differences`."""
KEPT, DROPPED = "#0072B2", "#D55E00"
LINE_POINTS = 300
"""Points of one line that are drawn at most; a longer one is thinned."""

MOST_TURNS = 14
"""Turns of episodes that fit beside one another; more would make a page scroll sideways."""

Chart = alt.Chart | alt.LayerChart | alt.FacetChart | alt.ConcatChart


def dressed(chart: Chart) -> Chart:
    """What all charts share, in the app and in the export."""
    return (
        chart.configure_view(stroke=None)
        .configure_axis(labelFontSize=12, titleFontSize=12, labelLimit=260, gridColor="#dddddd")
        .configure_legend(labelFontSize=12, titleFontSize=12, labelLimit=320, orient="top", columns=3)
        .configure_header(labelFontSize=12, titleFontSize=12)
    )


def scales(names: Sequence[str], labels: Mapping[str, str]) -> tuple[alt.Scale, alt.Scale, alt.Scale]:
    """Scales of colour, shape and dash over the labels of names, which look alike in all figures."""
    chosen = places(names)
    domain = [labels.get(name, name) for name in chosen]
    colours = [COLOURS[colour] for colour, _ in chosen.values()]
    shapes, dashes = ([values[cue] for _, cue in chosen.values()] for values in (SHAPES, DASHES))
    return alt.Scale(domain=domain, range=colours), alt.Scale(domain=domain, range=shapes), alt.Scale(domain=domain, range=dashes)


def estimates(rows: Sequence[Mapping[str, Any]], x: str) -> Chart:
    """Figures with intervals. Rows: ``arm, who, value, low, high``; ``who`` is ours or a model of the paper."""
    who = list(dict.fromkeys(str(row["who"]) for row in rows))
    arms = list(dict.fromkeys(str(row["arm"]) for row in rows))
    colour, shape, _ = scales(who, {})
    base = alt.Chart(pd.DataFrame(rows)).encode(y=alt.Y("arm:N", sort=arms, title=None), yOffset=alt.YOffset("who:N", sort=who))
    whiskers = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title=x), x2="high:Q", color=alt.Color("who:N", scale=colour, title=None)
    )
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=alt.X("value:Q", title=x, scale=alt.Scale(zero=False)),
        color=alt.Color("who:N", scale=colour, title=None),
        shape=alt.Shape("who:N", scale=shape, title=None),
        tooltip=["arm:N", "who:N", *_numbers(".2f")],
    )  # fmt: skip
    return dressed((whiskers + points).properties(height=alt.Step(18), width="container"))


def differences(rows: Sequence[Mapping[str, Any]], x: str) -> Chart:
    """Differences with intervals and a line at zero. Rows: ``pair, value, low, high, verdict``, one of the two verdicts here."""
    pairs = list(dict.fromkeys(str(row["pair"]) for row in rows))
    domain = [DECIDED, UNDECIDED]
    colour = alt.Color("verdict:N", scale=alt.Scale(domain=domain, range=["#0072B2", "#D55E00"]), title=None)
    shape = alt.Shape("verdict:N", scale=alt.Scale(domain=domain, range=["circle", "square"]), title=None)
    base = alt.Chart(pd.DataFrame(rows)).encode(y=alt.Y("pair:N", sort=pairs, title=None))
    zero = alt.Chart(pd.DataFrame([{"zero": 0}])).mark_rule(color="#555555").encode(x="zero:Q")
    whiskers = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=x), x2="high:Q", color=colour)
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=alt.X("value:Q", title=x), color=colour, shape=shape,
        tooltip=["pair:N", *_numbers("+.2f")],
    )  # fmt: skip
    return dressed((zero + whiskers + points).properties(height=alt.Step(28), width="container"))


def whisker(estimate: float, low: float | None, high: float | None, of: Column) -> dict[str, float | None]:
    """Value and bounds of a row of :func:`estimates` or :func:`differences`, in the unit of the column's heading."""
    shown = (None if value is None else of.shown(value) for value in (estimate, low, high))
    return dict(zip(("value", "low", "high"), shown, strict=True))


def _numbers(form: str) -> list[alt.Tooltip]:
    return [alt.Tooltip(f"{name}:Q", format=form) for name in ("value", "low", "high")]


def lines(rows: Sequence[Mapping[str, Any]], x: str, y: str, names: Sequence[str], labels: Mapping[str, str]) -> Chart:
    """One line per name, thin as logged and bold smoothed. Rows: ``name`` (a label), ``x, raw, smooth``."""
    colour, _, dash = scales(names, labels)
    legend = alt.Legend(symbolType="stroke", symbolSize=500, symbolStrokeWidth=2, symbolOpacity=1, columns=1)
    encoded = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("x:Q", title=x), color=alt.Color("name:N", scale=colour, title=None, legend=legend)
    )
    raw = encoded.mark_line(strokeWidth=0.8, opacity=0.35).encode(
        y=alt.Y("raw:Q", title=y, scale=alt.Scale(zero=False), axis=alt.Axis(labelExpr="format(datum.value, '~g')"))
    )
    smooth = encoded.mark_line(strokeWidth=2.2).encode(
        y=alt.Y("smooth:Q", title=y), strokeDash=alt.StrokeDash("name:N", scale=dash, title=None, legend=legend),
        tooltip=["name:N", "x:Q", alt.Tooltip("smooth:Q", format="~g"), alt.Tooltip("raw:Q", format="~g")],
    )  # fmt: skip
    return dressed((raw + smooth).properties(height=230, width="container"))


def profile(rows: Sequence[Mapping[str, Any]], names: Sequence[str], labels: Mapping[str, str]) -> Chart:
    """Calls by turn index, a line with marks per arm. Rows: ``name`` (a label), ``turn, calls, episodes``."""
    colour, shape, dash = scales(names, labels)
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("turn:O", title="Turn", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("calls:Q", title="Calls in the turn, mean"),
        color=alt.Color("name:N", scale=colour, title=None),
        tooltip=["name:N", "turn:O", alt.Tooltip("calls:Q", format=".2f"), "episodes:Q"],
    )
    line = base.mark_line().encode(strokeDash=alt.StrokeDash("name:N", scale=dash, title=None))
    marks = base.mark_point(filled=True, size=60, opacity=1).encode(shape=alt.Shape("name:N", scale=shape, title=None))
    return dressed((line + marks).properties(height=260, width="container"))


def bars(rows: Sequence[Mapping[str, Any]], x: str, kinds: Mapping[str, str]) -> Chart:
    """Counts in the order of the rows. Rows: ``name, count, kind``; ``kinds`` gives each kind its colour."""
    names = [str(row["name"]) for row in rows]
    base = alt.Chart(pd.DataFrame(rows)).encode(y=alt.Y("name:N", sort=names, title=None), x=alt.X("count:Q", title=x))
    scale = alt.Scale(domain=list(kinds), range=list(kinds.values()))
    filled = base.mark_bar().encode(color=alt.Color("kind:N", scale=scale, title=None), tooltip=["name:N", "count:Q"])
    numbers = base.mark_text(align="left", dx=4, fontSize=12, color="#1b1d21").encode(text=alt.Text("count:Q", format=","))
    return dressed((filled + numbers).properties(height=alt.Step(24), width="container"))


def plane(rows: Sequence[Mapping[str, Any]], min_f1: float, min_efficiency: float, y: str) -> Chart:
    """Places of candidates, larger where many lie. Rows: ``f1, efficiency, count, outcome`` (``stays`` or ``goes``)."""
    domain, decided = ["stays", "goes"], "with these thresholds"
    frame = pd.DataFrame(rows, columns=["f1", "efficiency", "count", "outcome"])
    edge = alt.Scale(domain=[-0.03, 1.03], nice=False)
    places = (
        alt.Chart(frame)
        .mark_point(opacity=0.7, strokeWidth=1.6)
        .encode(
            x=alt.X("f1:Q", title="F1 (0.7 file + 0.3 function)", scale=edge),
            y=alt.Y("efficiency:Q", title=y, scale=edge),
            size=alt.Size("count:Q", title="candidates", scale=alt.Scale(type="sqrt", range=[25, 500])),
            color=alt.Color("outcome:N", scale=alt.Scale(domain=domain, range=[KEPT, DROPPED]), title=decided),
            shape=alt.Shape("outcome:N", scale=alt.Scale(domain=domain, range=["circle", "cross"]), title=decided),
            tooltip=["f1:Q", "efficiency:Q", "count:Q", "outcome:N"],
        )
    )
    line: dict[str, Any] = {"strokeDash": [6, 4], "strokeWidth": 2, "color": "#1b1d21"}
    vertical = alt.Chart(pd.DataFrame([{"at": min_f1}])).mark_rule(**line).encode(x="at:Q")
    level = alt.Chart(pd.DataFrame([{"at": min_efficiency}])).mark_rule(**line).encode(y="at:Q")
    return dressed((places + vertical + level).properties(height=460, width="container"))


def calls(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Chart:
    """Calls of episodes by turn and place in it, gain as colour and number; as many episodes beside one another as fit.

    Rows: ``episode, turn, call, gain, text, tool, truth``; ``truth`` is what a call was the first to show, "" for nothing.
    """
    frame = pd.DataFrame(rows)
    frame["shows"] = frame["truth"].map(lambda truth: "first to show truth" if truth else None)
    parts = [_episode(frame[frame["episode"] == name], name) for name in names]
    turns = frame.groupby("episode")["turn"].nunique()
    columns = len(parts) if turns.sum() <= MOST_TURNS else max(1, MOST_TURNS // int(turns.max()))
    return dressed(alt.concat(*parts, columns=columns, spacing=40).resolve_scale(color="shared", shape="shared"))


def _episode(frame: pd.DataFrame, name: str) -> alt.LayerChart | alt.FacetChart:
    base = alt.Chart(frame).encode(
        x=alt.X("turn:O", title="Turn", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("call:O", title="Call of the turn"),
        tooltip=["turn:O", "call:O", "text:N", "tool:N", "truth:N"],
    )
    gain = alt.Color("gain:Q", title="gain", scale=alt.Scale(domain=[0, 1], scheme="cividis"))
    cells = base.mark_rect(stroke="#ffffff", strokeWidth=3).encode(color=gain)
    ink = alt.condition("datum.gain > 0.55", alt.value("#1b1d21"), alt.value("#ffffff"))
    numbers = base.mark_text(fontSize=12, fontWeight="bold").encode(text="text:N", color=ink)
    marks = (
        base.transform_filter("datum.shows != null")
        .mark_point(size=80, xOffset=22, yOffset=-9, filled=True, color="#D55E00", stroke="#ffffff", opacity=1)
        .encode(shape=alt.Shape("shows:N", scale=alt.Scale(domain=["first to show truth"], range=["diamond"]), title=None))
    )
    return alt.layer(cells, numbers, marks).properties(width=alt.Step(64), height=alt.Step(34), title=name)


def smoothed(points: Sequence[tuple[float, float]]) -> list[dict[str, float]]:
    """Points as ``x, raw, smooth`` (centred mean over a tenth of the run), thinned to :data:`LINE_POINTS`."""
    half = len(points) // 20
    values = [value for _, value in points]
    every = max(1, -(-len(points) // LINE_POINTS))
    rows = []
    for place in range(0, len(points), every):
        window = values[max(0, place - half) : place + half + 1]
        rows.append({"x": points[place][0], "raw": values[place], "smooth": sum(window) / len(window)})
    return rows
