"""The plane of F1 and e: candidate trajectories, two thresholds, and what stays above both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pandas as pd
import streamlit as st

from dashboards import read
from dashboards.parts import Notice, Part, Plot
from fusesearch.core.config import Params, load_params
from fusesearch.core.errors import FusesearchError
from fusesearch.reporting import charts
from fusesearch.reporting.table import ABSENT, Row, Table

TAB, TITLE = "F1 and e", "F1 and e of candidate trajectories"
Scope = Literal["turn", "call"]
COLUMN = {"turn": "efficiency", "call": "efficiency_call"}
NAMES = {"turn": "e, history by turn", "call": "e, history by call"}
STEPS = [step / 10 for step in range(11)]


def screen(root: Path) -> Iterator[Part]:
    """The page under thresholds that can be moved."""
    try:
        params = load_params(root / "params.yaml")
    except FusesearchError as error:
        yield Notice(str(error))
        params = Params()
    scopes: list[Scope] = ["turn", "call"]
    first, second, third = st.columns([2, 2, 1])
    min_f1 = first.slider("F1 at least (rho_F)", 0.0, 1.0, params.select.min_f1, 0.01, key="f1", bind="query-params")
    min_e = second.slider("e at least (rho_e)", 0.0, 1.0, params.select.min_efficiency, 0.01, key="e", bind="query-params")
    usual = scopes.index(params.agent.history_scope)
    scope = third.radio("History of e", scopes, usual, format_func=NAMES.__getitem__, key="scope", bind="query-params")
    yield from page(root, min_f1, min_e, scope)


def page(root: Path, min_f1: float, min_e: float, scope: Scope = "turn") -> Iterator[Part]:
    """The page under two thresholds."""
    frame = read.candidates(root)
    if frame.empty:
        yield Notice("No candidate has a score: run `dvc repro select` after the teacher has searched")
        return
    stay = frame[stays(frame, min_f1, min_e, scope)]
    yield (
        "Each mark is a place in the plane where candidates of the teacher lie. What is right of the one line and above the "
        "other stays (FuseSearch equation 5); selection then leaves out word-for-word duplicates and what is over its limit."
    )
    means = [f"{stay[name].mean():.3f}" if len(stay) else ABSENT for name in ("f1", COLUMN[scope])]
    counts = [f"{len(stay):,} of {len(frame):,}", f"{len(stay) / len(frame):.0%}"]
    instances = f"{stay['instance_id'].nunique():,} of {frame['instance_id'].nunique():,}"
    header = ["Candidates that stay", "Share", "Instances that stay", "Their mean F1", "Their mean e"]
    yield Table("With these thresholds", header, [Row([*counts, instances, *means])])
    yield Plot(
        charts.plane(places(frame, min_f1, min_e, scope), min_f1, min_e, NAMES[scope]),
        "Dashed: the two thresholds. Candidates that named no location go whatever the lines say; their F1 is 0",
        f"Plane of F1 and e with lines at F1 {min_f1:.2f} and e {min_e:.2f}: {len(stay):,} of {len(frame):,} stay.",
    )
    outcomes = ", ".join(f"{outcome} {count:,}" for outcome, count in frame["outcome"].value_counts().items())
    yield f"Selection as it was run: {outcomes}."
    rows = [Row([f"{e:.1f}", *(f"{stays(frame, f1, e, scope).sum():,}" for f1 in STEPS)]) for e in STEPS]
    header = ["e at least", *(f"F1 ≥ {step:.1f}" for step in STEPS)]
    yield Table(f"Candidates that stay, by both thresholds ({NAMES[scope]})", header, rows)


def stays(frame: pd.DataFrame, min_f1: float, min_e: float, scope: Scope) -> pd.Series[bool]:
    """Which candidates answered and reach both thresholds; selection's duplicates and limit are left aside."""
    return (frame["outcome"] != "no_answer") & (frame["f1"] >= min_f1) & (frame[COLUMN[scope]] >= min_e)


def places(frame: pd.DataFrame, min_f1: float, min_e: float, scope: Scope) -> list[dict[str, float | int | str]]:
    """Candidates that lie together as one row ``f1, efficiency, count, outcome``, rounded to hundredths."""
    outcome = stays(frame, min_f1, min_e, scope).map({True: "stays", False: "goes"})
    keys = [frame["f1"].round(2), frame[COLUMN[scope]].round(2).rename("efficiency"), outcome.rename("outcome")]
    return frame.groupby(keys).size().reset_index(name="count").to_dict("records")  # type: ignore[return-value]
