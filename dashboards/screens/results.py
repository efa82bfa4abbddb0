"""Results beside the paper's."""

from pathlib import Path

import streamlit as st

from dashboards.content.results import SHOWN, results_page
from dashboards.view.shown import begin, show
from tasks.evaluation.metrics import METRICS

begin("Results")
key = st.sidebar.selectbox(
    "Figure that is drawn",
    SHOWN,
    SHOWN.index("f1_macro"),
    format_func=lambda key: METRICS[key].heading,
    bind="query-params",
    key="figure",
)
show(results_page(Path(), [key]))
