"""Blocks in Streamlit. Text of others reaches the page as escaped HTML, as cells of a grid, or in a frame without scripts."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence

import streamlit as st

from dashboards.content.blocks import Block, Columns, Details, Frame, Heading, Links, Notice, Plot, Records, attempt
from dashboards.view import static

_MARKUP = re.compile(r"([!-/:-@\[-`{-~])")


FRAME_HEIGHT = 900
"""Pixels. Streamlit could measure only a frame that belongs to the app and lets scripts run."""


def plain(text: str) -> str:
    """Text as Markdown that shows it as it is."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def show(blocks: Sequence[Block]) -> None:
    """Put blocks on the page, one below the other."""
    for block in blocks:
        _show(block)


def show_page(title: str, build: Callable[[], Sequence[Block]]) -> None:
    """A heading, and what ``build`` makes or what it lacks."""
    begin(title)
    show(attempt(build))


def begin(title: str) -> None:
    """The top of a page."""
    st.html(f"<style>{static.style()}</style>")
    st.title(title)


def _show(block: Block) -> None:
    match block:
        case Heading(text, level):
            (st.header if level == 2 else st.subheader)(plain(text))
        case Plot():
            st.altair_chart(block.chart, width="stretch", theme=None, alt=block.alt)
            st.caption(plain(block.caption))
        case Records(caption, rows):
            st.caption(plain(caption))
            st.dataframe(list(rows), hide_index=True, alt=caption)
        case Details(title, blocks):
            with st.expander(plain(title)):
                show(blocks)
        case Columns(parts):
            for column, inner in zip(st.columns(len(parts)), parts, strict=True):
                with column:
                    show(inner)
        case Frame(html, title):
            st.iframe(_address(html), height=FRAME_HEIGHT, alt=title, tab_index=0)
        case Links():
            pass  # the app has its own ways from page to page
        case _:
            st.html(static.part(block))


def _address(html: str) -> str:
    """A document as an address of its own: its links stay inside of it, and it belongs to another origin than the app."""
    return f"data:text/html;charset=utf-8;base64,{base64.b64encode(html.encode()).decode()}"


def missing(text: str) -> None:
    """A notice outside of blocks."""
    show([Notice(text)])
