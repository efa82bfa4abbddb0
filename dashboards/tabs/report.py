"""The report, drawn from the artifacts as they are now; below it what each stage kept, and examples of what was dropped."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from dashboards import draw, read
from dashboards.draw import noted, plain
from fusesearch.reporting.table import Row, Table
from tasks.stages import STAGES

TITLE = "Report"


def page(root: Path) -> None:
    """The page; there is nothing to choose."""
    with noted():
        _report(root)
    st.header("Rows after each stage")
    _counts(root)
    for stage in ("filter", "select"):
        st.header(f"Examples of what {stage} dropped")
        with noted():
            _examples(root, stage)


def _report(root: Path) -> None:
    found = read.report(root)
    for verdict in found.verdicts:
        draw.words(verdict)
    for section in found.sections:
        st.header(plain(section.title))
        draw.section(section)
    draw.sources(found)


def _counts(root: Path) -> None:
    rows: list[Row] = []
    for stage in STAGES.values():
        if stage.counts:
            with noted():
                known = read.metrics(root, stage.name)
                rows += [Row([heading, unit, f"{known.get(key, 'not reported')}"]) for key, heading, unit in stage.counts]
    if rows:
        draw.table(Table("From mining to training; a trajectory is one search of the teacher", ["Stage", "Of", "Rows"], rows))


def _examples(root: Path, stage: str) -> None:
    for rule, rows in read.examples(root, stage).items():
        if rows:
            with st.expander(plain(f"{rule} ({len(rows)} shown)")):
                for row in rows:
                    facts = (f"{name} {value}" for name, value in row.facts.items() if value not in (None, ""))
                    draw.words(" · ".join([row.id, *facts]))
                    for heading, text in row.texts.items():
                        if text:
                            draw.quote(heading, text)
