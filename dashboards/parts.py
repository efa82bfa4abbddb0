"""What a page is made of, and its HTML. A page yields parts, and the app draws them.

All text is plain text, never markup: whoever draws it escapes it. A ``str`` is a paragraph; tables are those of the reports.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from fusesearch.core.errors import FusesearchError
from fusesearch.reporting.charts import Chart
from fusesearch.reporting.episodes.rendering import visible
from fusesearch.reporting.page import Page, Section
from fusesearch.reporting.table import Table

TEMPLATES = Path(__file__).with_name("templates")
_NUMBER = re.compile(r"[-+−–]?[\d.,]*\d(e[-+]\d+)?%?( \*)?( \[.*\].*)?|–")  # noqa: RUF001


@dataclass(frozen=True)
class Heading:
    """Begins a part of a page; ``level`` 2 or 3."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Notice:
    """What is missing or damaged and what to do about it, or a ``note`` of caution."""

    text: str
    kind: Literal["missing", "note"] = "missing"


@dataclass(frozen=True)
class Plot:
    """A chart; ``alt`` says in a sentence what it shows, for screen readers."""

    chart: Chart
    caption: str
    alt: str


@dataclass(frozen=True)
class Quote:
    """Text that others wrote, as it is: an issue, a patch."""

    heading: str
    text: str


@dataclass(frozen=True)
class Fold:
    """Parts that are opened on demand."""

    title: str
    parts: Sequence[Part]


@dataclass(frozen=True)
class Columns:
    """Parts side by side."""

    parts: Sequence[Sequence[Part]]


@dataclass(frozen=True)
class Frame:
    """A document inside the page."""

    html: str
    title: str


Part = str | Heading | Notice | Table | Plot | Quote | Fold | Columns | Frame


def attempt(parts: Iterable[Part]) -> Iterator[Part]:
    """The parts of a generator, and a notice of what it lacks: a part that cannot be made hides no other."""
    try:
        yield from parts
    except FusesearchError as error:
        yield Notice(str(error))


def whole(parts: Iterable[Part]) -> Iterator[Part]:
    """A page from its generator. What several parts lack is said once."""
    said: set[Part] = set()
    for part in attempt(parts):
        if isinstance(part, Notice):
            if part in said:
                continue
            said.add(part)
        yield part


def drawn(page: Page) -> Iterator[Part]:
    """The page of a report: what it found first, then its sections, and last where it comes from."""
    yield from page.verdicts
    for section in page.sections:
        yield Heading(section.title)
        yield from inside(section)
    if page.footer:
        yield Fold("Where it comes from", [f"{name}: `{value}`" for name, value in page.footer])


def inside(section: Section) -> list[Part]:
    """A section of a report without its heading."""
    return [*section.text, *section.tables, *(Plot(figure.chart, figure.caption, figure.caption) for figure in section.figures)]


def html(part: str | Notice | Table | Quote) -> str:
    """One part as HTML."""
    template: Any = _environment().get_template("parts.html.j2").module
    return str(template.show(part))


def style() -> str:
    """The stylesheet of all parts."""
    return (TEMPLATES / "parts.css").read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, finalize=visible,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters.update(
        kind=lambda part: type(part).__name__,
        is_number=lambda text: _NUMBER.fullmatch(text) is not None,
        cell=_cell,
        coded=_coded,
    )
    return environment


def _cell(text: str) -> Markup:
    """A cell; the interval of a number goes below it."""
    number, bracket, rest = text.partition(" [")
    if not bracket or _NUMBER.fullmatch(text) is None:
        return _coded(text)
    return Markup('{}<span class="range">[{}</span>').format(number, rest)


def _coded(text: str) -> Markup:
    """Escaped text; what stands between backticks is code."""
    parts = str(visible(text)).split("`")
    if len(parts) % 2 == 0:
        return escape("`".join(parts))
    return Markup("").join(Markup("<code>{}</code>").format(part) if place % 2 else part for place, part in enumerate(parts))
