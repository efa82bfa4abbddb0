"""Experiments: what each asked, and what came out beside the paper's numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import streamlit as st

from dashboards import draw, read
from dashboards.draw import noted
from fusesearch.core.errors import FusesearchError
from fusesearch.reporting.experiment.figures import draw as figures_of
from fusesearch.reporting.experiment.pages import page as page_of
from fusesearch.reporting.experiment.results import RESULTS, read_results
from fusesearch.reporting.page import Section
from tasks.experiments.spec import experiment_names, load_experiment
from tasks.running.places import EXPERIMENTS

TITLE = "Experiments"
INTRODUCTION = (
    "Each experiment changes params of the main pipeline and trains its arms again for several seeds; intervals are over "
    "instances and seeds, tests are paired and corrected. The paper's figures are those of its own models and benchmark."
)


def page(root: Path) -> None:
    """All experiments in a table, and the page of the one that the side bar asks for."""
    known = experiment_names(root / EXPERIMENTS)
    if not known:
        st.warning("This project has no experiment: `experiments/*/experiment.yaml` is missing")
        return
    usual = next(map(known.index, read.finished(root)), 0)
    chosen = st.sidebar.selectbox("Experiment", known, usual, key="chosen", bind="query-params")
    draw.words(INTRODUCTION)
    rows = [_overview(root, name) for name in known]
    draw.table(["Experiment", "Question", "Arms", "Seeds", "Came out"], rows, "All experiments")
    with noted():
        title = read.results_of(root, chosen).title
        draw.frame(read.cached(root / EXPERIMENTS / chosen / RESULTS, f"results-{chosen}", _html), title)


def _overview(root: Path, name: str) -> list[str]:
    try:
        asked = load_experiment(name, root / EXPERIMENTS)
    except FusesearchError as error:
        return [name, str(error), "", "", ""]
    try:
        results = read.results_of(root, name)
        arms, seeds, came_out = len(results.arms), results.measured_seeds, results.summary
    except FusesearchError as error:
        arms, seeds, came_out = len(asked.arms), asked.seeds, str(error)
    return [name, asked.question, str(arms), ", ".join(map(str, seeds)), came_out]


def _html(path: Path) -> str:
    """The page of an experiment with its figures."""
    results, asked = read_results(path.parent), load_experiment(path.parent.name, path.parents[1])
    figures = figures_of(asked.figures, results)
    found = page_of(results)
    return replace(found, sections=[*found.sections, Section("Figures", figures=figures)]).render("html")
