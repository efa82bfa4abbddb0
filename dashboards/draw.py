"""What the pages are made of: the project's own HTML pages in frames, tables and text. All text is plain text, never markup."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pandas as pd
import streamlit as st

from fusesearch.core.errors import FusesearchError
from fusesearch.reporting.episodes.rendering import visible

FRAME_HEIGHT = 900  # pixels: Streamlit could measure only a frame that belongs to the app and lets scripts run


def plain(text: str) -> str:
    """Text as Markdown that shows it as it is, on one line."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", re.sub(r"\s+", " ", visible(text)))


def coded(text: str) -> str:
    """As :func:`plain`, but what stands between backticks is code."""
    parts = visible(text).split("`")
    if len(parts) % 2 == 0:
        return plain(text)
    return "".join(f"`{part}`" if place % 2 else plain(part) for place, part in enumerate(parts))


@contextmanager
def noted() -> Iterator[None]:
    """A part of a page: what it lacks is said in its place, and hides no other part."""
    try:
        yield
    except FusesearchError as error:
        st.warning(coded(str(error)))


def words(text: str) -> None:
    """A paragraph."""
    st.markdown(coded(text))


def table(header: Sequence[str], rows: Sequence[Sequence[str]], alt: str) -> None:
    """A table; ``alt`` says what it shows, for screen readers."""
    cells = [[coded(cell) for cell in row] for row in rows]
    st.table(pd.DataFrame(cells, columns=[plain(name) for name in header]), hide_index=True, alt=alt)


def frame(html: str, alt: str) -> None:
    """A page of HTML at an address of its own: its links stay inside of it, and its origin is not the app's."""
    address = f"data:text/html;charset=utf-8;base64,{base64.b64encode(html.encode()).decode()}"
    st.iframe(address, height=FRAME_HEIGHT, alt=alt, tab_index=0)
