"""The report as its stage wrote it, and below it what each stage kept."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from dashboards import draw
from dashboards.draw import noted
from dashboards.read import cached
from fusesearch.core.storage import read_json, read_text
from tasks.running.places import MAIN
from tasks.stages import STAGES

TITLE = "Report"
INTRODUCTION = "As `dvc repro report` wrote it. Its cases are under Trajectories."


def page(root: Path) -> None:
    """The page; there is nothing to choose."""
    draw.words(INTRODUCTION)
    with noted():
        draw.frame(cached(root / MAIN["report.html"], "report", read_text), "The report")
    st.header("Rows after each stage")
    rows: list[list[str]] = []
    for stage in STAGES.values():
        if stage.counts:
            with noted():
                known = cached(root / MAIN[f"{stage.name}.metrics"], stage.name, read_json)
                rows += [[heading, unit, f"{known.get(key, 'not reported')}"] for key, heading, unit in stage.counts]
    if rows:
        draw.table(["Stage", "Of", "Rows"], rows, "From mining to training; a trajectory is one search of the teacher")
