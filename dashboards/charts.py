"""The chart that no report has: calls of episodes by turn and gain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from fusesearch.reporting.charts import Chart, dressed

MOST_TURNS = 14
"""Turns of episodes that fit beside one another; more would make a page scroll sideways."""


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
