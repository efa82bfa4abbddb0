"""Candidate trajectories in the plane of F1 and e."""

from pathlib import Path

import streamlit as st

from dashboards.content.blocks import attempt
from dashboards.content.plane import SCOPES, plane_page
from dashboards.reading.artifacts import current_params
from dashboards.reading.candidates import Scope
from dashboards.view.shown import begin, missing, show
from tasks.core.config import Params
from tasks.core.errors import FusesearchError

begin("F1 and e of candidate trajectories")
try:
    params = current_params(Path())
except FusesearchError as error:
    missing(str(error))
    params = Params()
scopes: list[Scope] = ["turn", "call"]
first, second, third = st.columns([2, 2, 1])
min_f1 = first.slider("F1 at least (rho_F)", 0.0, 1.0, params.select.min_f1, 0.01, key="f1", bind="query-params")
min_e = second.slider("e at least (rho_e)", 0.0, 1.0, params.select.min_efficiency, 0.01, key="e", bind="query-params")
place = scopes.index(params.agent.history_scope)
scope = third.radio("History of e", scopes, place, format_func=SCOPES.__getitem__, key="scope", bind="query-params")
show(attempt(lambda: plane_page(Path(), min_f1, min_e, scope)))
