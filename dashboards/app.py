"""The app, as Streamlit runs it: ``python -m dashboards``. Reads the project in the current folder."""

from __future__ import annotations

import base64
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import streamlit as st

if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parents[1]))  # `streamlit run` puts only this folder there

from dashboards.parts import Columns, Fold, Frame, Heading, Part, Plot, html, style, whole
from dashboards.tabs import PAGES

FRAME_HEIGHT = 900  # pixels: Streamlit could measure only a frame that belongs to the app and lets scripts run


def plain(text: str) -> str:
    """Text as Markdown that shows it as it is."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", " ".join(text.split()))


def draw(parts: Iterable[Part]) -> None:
    """Put parts on the page, one below the other. Text reaches it as escaped HTML or in a frame without scripts."""
    for part in parts:
        match part:
            case Heading(text, level):
                (st.header if level == 2 else st.subheader)(plain(text))
            case Plot():
                st.altair_chart(part.chart, width="stretch", theme=None, alt=part.alt)
                st.caption(plain(part.caption))
            case Fold(title, inner):
                with st.expander(plain(title)):
                    draw(inner)
            case Columns(columns):
                for place, inner in zip(st.columns(len(columns)), columns, strict=True):
                    with place:
                        draw(inner)
            case Frame(content, title):
                # an address of its own: its links stay inside of it, and its origin is not the app's
                address = f"data:text/html;charset=utf-8;base64,{base64.b64encode(content.encode()).decode()}"
                st.iframe(address, height=FRAME_HEIGHT, alt=title, tab_index=0)
            case _:
                st.html(html(part))


def open_page(name: str) -> None:
    """Draw a page under its title."""
    st.html(f"<style>{style()}</style>")
    st.title(PAGES[name].TITLE)
    draw(whole(PAGES[name].screen(Path())))


def navigate() -> None:
    """Draw the page that the address names."""
    st.set_page_config(page_title="fusesearch", layout="wide", initial_sidebar_state="auto")
    # no icons: Streamlit fetches them from elsewhere
    pages = [
        st.Page(lambda name=name: open_page(name), title=page.TAB, url_path=name, default=name == "report")  # type: ignore[misc]
        for name, page in PAGES.items()
    ]
    st.navigation(pages).run()


if __name__ == "__main__":
    navigate()
