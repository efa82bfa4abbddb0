"""The app: ``python -m dashboards``. Each page is a script of ``screens/``."""

from __future__ import annotations

import sys
from pathlib import Path

import streamlit as st

HERE = Path(__file__).parent
if str(HERE.parent) not in sys.path:
    sys.path.insert(0, str(HERE.parent))  # `streamlit run` puts only this folder there

from dashboards.tabs import TABS  # noqa: E402

st.set_page_config(page_title="fusesearch", layout="wide", initial_sidebar_state="auto")
pages = [st.Page(HERE / "screens" / f"{name}.py", title=title, url_path=name, default=name == "results") for name, title in TABS]
st.navigation(pages).run()
