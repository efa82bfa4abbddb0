"""Experiments: what each asked, what came out beside the paper's numbers, and two of them side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import streamlit as st

from dashboards import charts, read
from dashboards.parts import Columns, Fold, Heading, Notice, Part, Plot, attempt
from fusesearch.core.errors import FusesearchError
from fusesearch.evaluation.metrics import METRICS, Metric, metric_named
from fusesearch.reporting.charts import estimates
from fusesearch.reporting.experiment.figures import ALWAYS, FIGURES, marks
from fusesearch.reporting.experiment.pages import (
    BY_CHANCE,
    DIFFERENCES_NOTE,
    POWER_NOTE,
    arms_table,
    differences_table,
    orderings_table,
    power_table,
)
from fusesearch.reporting.experiment.results import Results, decided
from fusesearch.reporting.table import Row, Table
from tasks.experiments.spec import Experiment, load_experiment
from tasks.running.places import EXPERIMENTS

TAB = TITLE = "Experiments"
INTRODUCTION = (
    "Each experiment changes params of the main pipeline and trains its arms again for several seeds; intervals are over "
    "instances and seeds, tests are paired and corrected. The paper's figures are those of its own models and benchmark."
)
SIDE_BY_SIDE = 2


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
    measured = [every[name].metrics for name in chosen if name in every]
    shared = [key for key in measured[0] if key in METRICS and all(key in keys for keys in measured)] if measured else []
    metric = st.sidebar.selectbox(
        "Figure that is drawn",
        ["", *shared],
        format_func=lambda key: METRICS[key].heading if key else "each one's own",
        key="metric",
        bind="query-params",
    )
    return page(root, chosen, metric, side_by_side=True)


def page(root: Path, chosen: Sequence[str], metric: str = "", side_by_side: bool = False) -> Iterator[Part]:
    """All experiments in a table, and those that are chosen; ``metric`` is drawn, or the primary one of each."""
    known = read.experiments(root)
    if not known:
        yield Notice("This project has no experiment: `experiments/*/experiment.yaml` is missing")
        return
    yield INTRODUCTION
    yield Table(
        "All experiments", ["Experiment", "Question", "Arms", "Seeds", "Came out"], [_overview(root, name) for name in known]
    )
    columns = [attempt(experiment(root, name, metric)) for name in chosen]
    if side_by_side and len(columns) > 1:
        yield Columns([list(column) for column in columns])
    else:
        for column in columns:
            yield from column


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


def experiment(root: Path, name: str, metric: str = "") -> Iterator[Part]:
    """What one experiment asked, and what came out."""
    asked = load_experiment(name, root / EXPERIMENTS)
    yield Heading(asked.title)
    yield asked.question
    yield f"Expected: {asked.hypothesis}"
    yield from attempt(_results(root, asked, metric))


def _results(root: Path, asked: Experiment, metric: str) -> Iterator[Part]:
    results = read.results_of(root, asked.name)
    drawn = metric_named(metric if metric in results.metrics else results.primary)
    yield f"Came out: {results.summary}"
    yield from results.notes
    for missing in results.missing:
        yield Notice(f"{missing}: run `python -m flows experiment run {results.experiment}`")
    if results.other_instances:
        yield Notice(
            f"Measured on other instances than the rest: {', '.join(results.other_instances)}. Figures over all of them are of "
            f"no one set; `{results.command}` measures the outdated ones again.",
            "note",
        )
    if results.claims:
        claims = [Row([claim.verdict, claim.sentence, "yes" if claim.paper else ""]) for claim in results.claims]
        yield Table("Claims", ["Verdict", "In numbers", "The paper's"], claims)
    yield from _estimates(results, drawn)
    if chosen := [row for row in results.differences if row.metric == drawn.key]:
        yield charts.differences(chosen, results.labels, drawn, decided)
    yield arms_table(results)
    yield Fold("All differences", [DIFFERENCES_NOTE, differences_table(results)])
    yield Fold("Orderings of the paper", [BY_CHANCE, *results.paper_notes, orderings_table(results)])
    yield Fold("Power: what a true difference would have to be", [POWER_NOTE, power_table(results)])
    yield Fold("Figures", list(attempt(_figures(root, results, asked))))
    profile = f"profile {results.profile}, " if results.profile else ""
    source = f"{profile}git {results.revision}, dvc {results.dvc_revision}, inputs {results.inputs}."
    yield Fold("Where it comes from", [f"Made by `{results.command}`.", source])


def _estimates(results: Results, of: Metric) -> Iterator[Part]:
    rows = [row for arm in results.arms for row in marks(arm, of)]
    if not rows:
        yield Notice(f"No arm has {of.heading} yet.", "note")
        return
    ours = [f"{row['arm']} {row['value']:.2f}" for row in rows if row["who"] == "ours"]
    beside = f"; the other marks: {results.paper_caption}" if len(ours) < len(rows) else ""
    yield Plot(estimates(rows, of.heading), f"{of.heading} by arm{beside}", f"{of.heading} by arm: {', '.join(ours)}.")


def _figures(root: Path, results: Results, asked: Experiment) -> Iterator[Part]:
    """The figures the experiment asks for; those of its training need the curves of a run on this machine."""
    curves = read.experiment_curves(root, results.experiment)
    for name in dict.fromkeys((*ALWAYS, *asked.figures)):
        caption, of = FIGURES[name]
        chart = of(results, curves)
        if chart is not None:
            yield Plot(chart, caption, f"{results.title} {caption}.")
