"""Blocks as HTML that needs no script and loads nothing: parts of pages for the app, whole pages for the export."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from dashboards.content.blocks import Block, Notice, Picture, Printed, Quote, Records, Text, Tiles
from tasks.reporting.charts import svg
from tasks.reporting.episodes.rendering import visible
from tasks.reporting.table import Row, Table

TEMPLATES = Path(__file__).parents[1] / "templates"
MOST_RECORDS = 500
"""Rows of a long table that an exported page shows."""

Simple = Text | Notice | Tiles | Printed | Picture | Quote
_MACROS: dict[type, str] = {
    Text: "text", Notice: "notice", Tiles: "tiles", Printed: "printed", Picture: "picture", Quote: "quote",
}  # fmt: skip
_FIGURE = re.compile(r"[-+−–]?[\d.,]*\d(e[-+]\d+)?%?( \*)?( \[.*\].*)?|–")  # noqa: RUF001


@dataclass(frozen=True)
class Place:
    """Where a page stands in an export: the name of its tab, all tabs as (name, file), and the way up to them."""

    current: str
    pages: Sequence[tuple[str, str]]
    up: str = ""
    about: str = ""


def part(block: Simple) -> str:
    """One simple block as HTML."""
    macros: Any = _environment().get_template("blocks.html.j2").module
    return str(getattr(macros, _MACROS[type(block)])(block))


def style() -> str:
    """The stylesheet of all parts."""
    return (TEMPLATES / "blocks.css").read_text(encoding="utf-8")


def page(title: str, blocks: Sequence[Block], place: Place) -> str:
    """A whole page as one document. Its Content-Security-Policy allows its own stylesheet and pictures, and nothing else."""
    sheet = (TEMPLATES / "page.css").read_text(encoding="utf-8") + style()
    digest = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()
    return _environment().get_template("page.html.j2").render(
        title=title, blocks=blocks, style=Markup(sheet), digest=digest,  # noqa: S704
        current=place.current, pages=place.pages, up=place.up, about=place.about,
    )  # fmt: skip


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, finalize=visible,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "kind": lambda block: type(block).__name__,
        "plotted": lambda plot: svg(plot.chart),
        "data_uri": lambda text: f"data:image/svg+xml;base64,{base64.b64encode(text.encode()).decode()}",
        "is_figure": lambda text: _FIGURE.fullmatch(text) is not None,
        "interval": _interval,
        "coded": _coded,
        "as_printed": _as_printed,
    }
    return environment


def _interval(text: str) -> Markup:
    """A cell; the bracket of a figure goes below it."""
    figure, bracket, rest = text.partition(" [")
    if not bracket or _FIGURE.fullmatch(text) is None:
        return _coded(text)
    return Markup('{}<span class="range">[{}</span>').format(escape(figure), rest)


def _coded(text: str) -> Markup:
    """Escaped text; what stands between backticks is code."""
    parts = str(visible(text)).split("`")
    if len(parts) % 2 == 0:
        return escape("`".join(parts))
    return Markup("").join(Markup("<code>{}</code>").format(part) if place % 2 else part for place, part in enumerate(parts))


def _as_printed(records: Records) -> Printed:
    header = list(dict.fromkeys(key for row in records.rows for key in row))
    rows = [Row([_cell(row.get(key)) for key in header]) for row in records.rows[:MOST_RECORDS]]
    left = len(records.rows) - len(rows)
    return Printed(Table(records.caption + (f" (the first {len(rows)}; {left} more)" if left else ""), header, rows))


def _cell(value: Any) -> str:
    if value is None:
        return "–"  # noqa: RUF001
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.4g}"
