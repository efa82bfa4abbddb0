"""Results: arms with intervals beside the paper's rows, and their paired differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from dashboards import charts, read
from dashboards.parts import Heading, Notice, Part, Plot, attempt
from fusesearch.core.errors import FusesearchError
from fusesearch.evaluation.metrics import METRICS, Metric
from fusesearch.reporting.charts import LEAST_EPISODES, estimates, profile, whisker
from fusesearch.reporting.inputs import by_arm
from fusesearch.reporting.reproduction import (
    COMPARED,
    REPORTED,
    STAR_NOTE,
    differences_table,
    full_table,
    label,
    ranked_table,
    stages_table,
)
from fusesearch.reporting.table import ARMS

TAB = TITLE = "Results"
INTRODUCTION = (
    "The paper's models have 4B and 30B parameters and were measured on 386 instances of SWE-bench Verified; ours are another "
    "scale, on repositories held out from training. Absolute figures cannot be compared; the direction from stage to stage can. "
    "Brackets and whiskers are intervals over instances."
)


def screen(root: Path) -> Iterator[Part]:
    """The page with one figure drawn, which the side bar asks for."""
    key = st.sidebar.selectbox(
        "Figure that is drawn",
        REPORTED,
        REPORTED.index("f1_macro"),
        format_func=lambda key: METRICS[key].heading,
        bind="query-params",
        key="figure",
    )
    return page(root, [key])


def page(root: Path, keys: Sequence[str] = COMPARED) -> Iterator[Part]:
    """The page, with these figures drawn."""
    yield INTRODUCTION
    yield from attempt(_stages(root))
    for key in keys:
        yield Heading(METRICS[key].heading)
        yield from attempt(_estimates(root, METRICS[key]))
        yield from attempt(_differences(root, METRICS[key]))
    yield Heading("Parallelism")
    yield from attempt(_calls_by_turn(root))
    yield Heading("In full")
    yield from attempt(_arms(root))
    yield from attempt(_ranked(root))
    yield from attempt(_all_differences(root))


def _stages(root: Path) -> Iterator[Part]:
    try:
        paper = read.paper_stages(root)
    except FusesearchError as error:
        yield Notice(str(error))
        paper = []  # ours are shown without it
    yield stages_table(read.summary(root), paper)


def _estimates(root: Path, of: Metric) -> Iterator[Part]:
    rows: list[dict[str, Any]] = []
    for arm, figures in read.summary(root).items():
        if found := figures.get(of.key):
            rows.append({"arm": label(arm), "who": "ours", **whisker(found, of)})
    if not rows:
        yield Notice(f"No arm has {of.heading}: run `dvc repro report`")
        return
    best = max(rows, key=lambda row: row["value"])
    try:
        papers = [row for arm in read.summary(root) for row in _paper(root, arm, of)]
    except FusesearchError as error:
        yield Notice(str(error))
        papers = []
    beside = " Marks without whiskers are the paper's models." if papers else ""
    alt = f"{of.heading} by arm; the highest of ours is {best['arm']} with {best['value']:.2f}.{beside}"
    yield Plot(estimates(rows + papers, of.heading), f"{of.heading} by arm, with intervals.{beside}", alt)


def _paper(root: Path, arm: str, of: Metric) -> Iterator[dict[str, Any]]:
    """The paper's marks for the same stage, in its units, which are ours."""
    for row in read.paper_stages(root) if of.paper else ():
        if row["stage"] == arm and row[of.paper or ""]:
            who = f"{row['model']}, paper"
            yield {"arm": label(arm), "who": who, "value": float(row[of.paper or ""]), "low": None, "high": None}


def _differences(root: Path, of: Metric) -> Iterator[Part]:
    chosen = [row for row in read.differences(root) if row.metric == of.key]
    if not chosen:
        yield Notice(f"Differences are measured for {', '.join(METRICS[key].heading for key in COMPARED)}.", "note")
        return
    yield charts.differences(chosen, ARMS, of, lambda row: row.is_significant)


def _calls_by_turn(root: Path) -> Iterator[Part]:
    yield (
        "Calls of tool-using turns by turn index (FuseSearch figure 3). e says how much of what a call returned was new, "
        "never how much was found: read it beside the number of calls."
    )
    known = read.calls_by_turn(root)
    arms = list(dict.fromkeys(row.arm for row in known))
    chart = profile([{**row.model_dump(), "name": label(row.arm)} for row in known], arms, ARMS)
    if chart is None:
        yield Notice(f"Fewer than {LEAST_EPISODES} episodes reached each turn, too few for calls by turn.", "note")
        return
    first = [f"{label(arm)} {next(row.calls for row in known if row.arm == arm):.1f}" for arm in arms]
    caption = f"Mean calls at each turn; points with fewer than {LEAST_EPISODES} episodes are left out"
    yield Plot(chart, caption, f"Mean calls by turn; in the first: {', '.join(first)}.")


def _arms(root: Path) -> Iterator[Part]:
    arms = by_arm(read.scores(root))
    yield full_table({arm: figures for arm, figures in read.summary(root).items() if arm in arms}, arms)


def _ranked(root: Path) -> Iterator[Part]:
    yield ranked_table(by_arm(read.scores(root)))


def _all_differences(root: Path) -> Iterator[Part]:
    rows = read.differences(root)
    yield STAR_NOTE
    yield differences_table(rows)
