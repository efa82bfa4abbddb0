"""Experiments: what each asked, what came out beside the paper's numbers, and two of them side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import streamlit as st

from dashboards import read
from dashboards.parts import Columns, Fold, Heading, Notice, Part, Plot, attempt, inside
from fusesearch.core.errors import FusesearchError
from fusesearch.reporting.experiment.figures import draw
from fusesearch.reporting.experiment.pages import page as page_of
from fusesearch.reporting.experiment.results import Results
from fusesearch.reporting.table import Row, Table
from tasks.experiments.spec import Experiment, load_experiment
from tasks.running.places import EXPERIMENTS
from tasks.stages import TRAINED

TAB = TITLE = "Experiments"
INTRODUCTION = (
    "Each experiment changes params of the main pipeline and trains its arms again for several seeds; intervals are over "
    "instances and seeds, tests are paired and corrected. The paper's figures are those of its own models and benchmark."
)
SIDE_BY_SIDE = 2
SHOWN = 2
"""Sections that are open: the question, and figures by arm."""


def screen(root: Path) -> Iterator[Part]:
    """The page of the experiments that the side bar asks for."""
    known, every = read.experiments(root), read.finished(root)
    chosen = st.sidebar.multiselect(
        "Side by side",
        known,
        list(every)[:SIDE_BY_SIDE],
        max_selections=SIDE_BY_SIDE,
        key="chosen",
        bind="query-params",
        disabled=not known,
    )
    return page(root, chosen)


def page(root: Path, chosen: Sequence[str]) -> Iterator[Part]:
    """All experiments in a table, and those that are chosen, side by side."""
    known = read.experiments(root)
    if not known:
        yield Notice("This project has no experiment: `experiments/*/experiment.yaml` is missing")
        return
    yield INTRODUCTION
    yield Table(
        "All experiments", ["Experiment", "Question", "Arms", "Seeds", "Came out"], [_overview(root, name) for name in known]
    )
    columns = [attempt(experiment(root, name)) for name in chosen]
    if len(columns) > 1:
        yield Columns([list(column) for column in columns])
    else:
        yield from chain(*columns)


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


def experiment(root: Path, name: str) -> Iterator[Part]:
    """The page of one experiment and its figures; those of its training need the curves of a run on this machine."""
    asked = load_experiment(name, root / EXPERIMENTS)
    yield Heading(asked.title)
    results = read.results_of(root, name)
    found = page_of(results, TRAINED)
    yield from found.verdicts
    for section in found.sections[:SHOWN]:
        yield Heading(section.title, 3)
        yield from inside(section)
    yield from attempt(_figures(root, results, asked))
    yield from (Fold(section.title, inside(section)) for section in found.sections[SHOWN:])
    yield Fold("Where it comes from", [f"{heading}: `{value}`" for heading, value in found.footer])


def _figures(root: Path, results: Results, asked: Experiment) -> Iterator[Part]:
    for figure in draw(asked.figures, results, read.experiment_curves(root, results.experiment)):
        yield Plot(figure.chart, figure.caption, f"{results.title} {figure.caption}.")
