"""Experiments side by side."""

from pathlib import Path

import streamlit as st

from dashboards.content.blocks import attempt
from dashboards.content.experiments import MOST_SIDE_BY_SIDE, experiments_page, metrics_of
from dashboards.reading.experiments import finished, names
from dashboards.view.shown import begin, show
from tasks.evaluation.metrics import metric_named

ROOT = Path()

begin("Experiments")
known = names(ROOT)
usual = [name for name in known if name in finished(ROOT)][:MOST_SIDE_BY_SIDE]
chosen = st.sidebar.multiselect(
    "Side by side", known, usual, max_selections=MOST_SIDE_BY_SIDE, key="chosen", bind="query-params", disabled=not known
)
metrics = metrics_of(ROOT, chosen)
metric = st.sidebar.selectbox(
    "Figure that is drawn",
    ["", *metrics],
    format_func=lambda key: metric_named(key).heading if key else "each one's own",
    key="metric",
    bind="query-params",
)
show(attempt(lambda: experiments_page(ROOT, chosen, metric or None)))
