"""The app, as Streamlit runs it: ``python -m dashboards``. Reads the project in the current folder."""

from __future__ import annotations

import sys
from pathlib import Path

import streamlit as st

if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parents[1]))  # `streamlit run` puts only this folder there

from dashboards.draw import noted
from dashboards.tabs import PAGES


def open_page(name: str) -> None:
    """Draw a page under its title."""
    st.title(PAGES[name].TITLE)
    with noted():
        PAGES[name].page(Path())


def navigate() -> None:
    """Draw the page that the address names."""
    st.set_page_config(page_title="fusesearch", layout="wide", initial_sidebar_state="auto")
    # no icons: Streamlit fetches them from elsewhere
    pages = [
        st.Page(lambda name=name: open_page(name), title=page.TITLE, url_path=name, default=name == "report")  # type: ignore[misc]
        for name, page in PAGES.items()
    ]
    st.navigation(pages).run()


if __name__ == "__main__":
    navigate()
