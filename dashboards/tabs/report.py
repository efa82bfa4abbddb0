"""The report as its stage wrote it; below it what each stage kept, and examples of what was dropped."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from dashboards import draw
from dashboards.draw import noted, plain
from dashboards.read import cached
from fusesearch.core.examples import read_examples
from fusesearch.core.storage import read_json, read_text
from fusesearch.reporting.episodes.rendering import visible
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
    for name in ("filter", "select"):
        st.header(f"Examples of what {name} dropped")
        with noted():
            _examples(root / MAIN[f"{name}.examples"], name)


def _examples(path: Path, stage: str) -> None:
    for rule, rows in cached(path, stage, read_examples).items():
        if rows:
            with st.expander(plain(f"{rule} ({len(rows)} shown)")):
                for row in rows:
                    facts = (f"{name} {value}" for name, value in row.facts.items() if value not in (None, ""))
                    draw.words(" · ".join([row.id, *facts]))
                    for heading, text in row.texts.items():
                        if text:
                            st.caption(plain(heading))
                            st.code(visible(text), language=None, wrap_lines=True)
