"""Training curves."""

from pathlib import Path

import streamlit as st

from dashboards.content.training import PANELS, USUAL, figures_of, training_page
from dashboards.reading.curves import Curve, main_curves, node_curves
from dashboards.reading.runs import TrainingRun, run_curve, training_runs
from dashboards.view.shown import begin, missing, show
from tasks.core.errors import FusesearchError

ROOT = Path()


def of_nodes() -> list[Curve]:
    """Curves of nodes that are asked for."""
    nodes = {curve.name: curve for curve in node_curves(ROOT)}
    wanted = st.sidebar.multiselect(
        "Runs of experiments",
        list(nodes),
        format_func=lambda name: nodes[name].label,
        key="nodes",
        bind="query-params",
        disabled=not nodes,
    )
    return [nodes[name] for name in wanted]


@st.cache_data(ttl=60, show_spinner="Asking MLflow")
def known_runs(root: Path) -> list[TrainingRun]:
    """Runs in MLflow, asked for once a minute."""
    return training_runs(root)


@st.cache_data(ttl=60, show_spinner="Reading a run of MLflow")
def curve_of(root: Path, run: TrainingRun) -> Curve:
    """The curve of a run, asked for once a minute."""
    return run_curve(root, run)


def tracked() -> list[Curve]:
    """Curves of runs in MLflow that are asked for; MLflow is not asked before somebody wants it."""
    if not st.sidebar.toggle("Runs in MLflow", key="mlflow", bind="query-params"):
        return []
    try:
        runs = {run.run_id: run for run in known_runs(ROOT)}
        wanted = st.sidebar.multiselect(
            "Which of them", list(runs), format_func=lambda run: runs[run].label, key="runs", bind="query-params"
        )
        return [curve_of(ROOT, runs[run]) for run in wanted]
    except FusesearchError as error:
        missing(str(error))
        return []


begin("Training curves")
main, faults = main_curves(ROOT)
curves = main + of_nodes() + tracked()
known = figures_of(curves)
figures = st.sidebar.multiselect(
    "Figures",
    known,
    format_func=lambda key: PANELS.get(key, key),
    key="figures",
    bind="query-params",
    placeholder="The usual ones",
)
show(training_page(curves, figures or [key for key in USUAL if key in known] or known, faults))
