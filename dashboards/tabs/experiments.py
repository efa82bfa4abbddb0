"""Experiments: what each asked, what came out beside the paper's numbers, and two of them side by side."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from dashboards import draw, read
from dashboards.draw import noted, plain
from fusesearch.core.errors import FusesearchError
from fusesearch.reporting.experiment.figures import draw as figures_of
from fusesearch.reporting.experiment.pages import page as page_of
from fusesearch.reporting.table import Row, Table
from tasks.experiments.spec import load_experiment
from tasks.running.places import EXPERIMENTS
from tasks.stages import TRAINED

TITLE = "Experiments"
INTRODUCTION = (
    "Each experiment changes params of the main pipeline and trains its arms again for several seeds; intervals are over "
    "instances and seeds, tests are paired and corrected. The paper's figures are those of its own models and benchmark."
)
SIDE_BY_SIDE = 2
SHOWN = 2
"""Sections that are open: the question, and figures by arm."""


def page(root: Path) -> None:
    """All experiments in a table, and those that the side bar asks for, side by side."""
    known, finished = read.experiments(root), list(read.finished(root))[:SIDE_BY_SIDE]
    if not known:
        st.warning("This project has no experiment: `experiments/*/experiment.yaml` is missing")
        return
    chosen = st.sidebar.multiselect(
        "Side by side", known, finished, max_selections=SIDE_BY_SIDE, key="chosen", bind="query-params"
    )
    draw.words(INTRODUCTION)
    rows = [_overview(root, name) for name in known]
    draw.table(Table("All experiments", ["Experiment", "Question", "Arms", "Seeds", "Came out"], rows))
    for place, name in zip(st.columns(max(1, len(chosen))), chosen, strict=False):
        with place, noted():
            _experiment(root, name)


def _overview(root: Path, name: str) -> Row:
    try:
        asked = load_experiment(name, root / EXPERIMENTS)
    except FusesearchError as error:
        return Row([name, str(error), "", "", ""])
    try:
        results = read.results_of(root, name)
        arms, seeds, came_out = len(results.arms), results.measured_seeds, results.summary
    except FusesearchError as error:
        arms, seeds, came_out = len(asked.arms), asked.seeds, str(error)
    return Row([name, asked.question, str(arms), ", ".join(map(str, seeds)), came_out])


def _experiment(root: Path, name: str) -> None:
    """The page of one experiment and its figures; those of its training need the curves of a run on this machine."""
    asked = load_experiment(name, root / EXPERIMENTS)
    st.header(plain(asked.title))
    results = read.results_of(root, name)
    found = page_of(results, TRAINED)
    for verdict in found.verdicts:
        draw.words(verdict)
    for section in found.sections[:SHOWN]:
        st.subheader(plain(section.title))
        draw.section(section)
    with noted():
        for figure in figures_of(asked.figures, results, read.experiment_curves(root, name)):
            draw.plot(figure, f"{results.title} {figure.caption}.")
    for section in found.sections[SHOWN:]:
        with st.expander(plain(section.title)):
            draw.section(section)
    draw.sources(found)
