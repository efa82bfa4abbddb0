"""What a report's page is made of, as Streamlit's own elements. All text is plain text, never markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pandas as pd
import streamlit as st

from fusesearch.core.errors import FusesearchError
from fusesearch.reporting.episodes.rendering import visible
from fusesearch.reporting.page import Figure, Page, Section
from fusesearch.reporting.table import Table


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


def quote(heading: str, text: str) -> None:
    """Text that others wrote, as it is: an issue, a patch."""
    st.caption(plain(heading))
    st.code(visible(text), language=None, wrap_lines=True)


def table(found: Table) -> None:
    """A table below its caption."""
    st.markdown(f"**{plain(found.caption)}**")
    rows = [[plain(cell) for cell in row.cells] for row in found.rows]
    st.table(pd.DataFrame(rows, columns=[plain(name) for name in found.header]), hide_index=True, alt=found.caption)


def plot(figure: Figure, alt: str) -> None:
    """A chart above its caption; ``alt`` says what it shows, for screen readers."""
    st.altair_chart(figure.chart, width="stretch", theme=None, alt=alt)
    st.caption(plain(figure.caption))


def section(found: Section) -> None:
    """A section of a report without its heading."""
    for text in found.text:
        words(text)
    for one in found.tables:
        table(one)
    for figure in found.figures:
        plot(figure, figure.caption)


def sources(page: Page) -> None:
    """Where a page comes from, opened on demand."""
    with st.expander("Where it comes from"):
        for name, value in page.footer:
            words(f"{name}: `{value}`")
