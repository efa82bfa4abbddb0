"""Pages: sections of text, tables and figures as Markdown, HTML or text for a terminal."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from fusesearch.core.storage import write_text
from fusesearch.core.text import printable
from fusesearch.reporting.table import Table, markdown_cell, terminal_table, turned


@dataclass(frozen=True)
class Figure:
    """A chart of Altair, the name of its file, what it shows, and what draws it as SVG in a form."""

    name: str
    caption: str
    chart: Any
    draw: Callable[[Any, str], str]

    @cached_property
    def svg(self) -> str:
        """The chart as SVG, drawn once."""
        return self.draw(self.chart, "")

    @cached_property
    def narrow(self) -> str:
        """The chart for a phone."""
        return self.draw(self.chart, "-narrow")


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs of plain text, figures, tables, and paragraphs that come ``after`` them.

    In HTML ``word`` stands beside the heading, which leads to ``href``.
    """

    title: str
    text: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    word: str = ""
    href: str = ""


@dataclass(frozen=True)
class Page:
    """A page. ``word`` says what came out and comes first, ``footer`` names its sources, ``folder`` holds its figures."""

    title: str
    sections: Sequence[Section]
    word: str = ""
    footer: Sequence[tuple[str, str]] = ()
    folder: str = "plots"

    def render(self, suffix: str) -> str:
        """Render as ``md``, with links to the figures, or as ``html``, which needs no other file."""
        from jinja2 import Environment, PackageLoader, select_autoescape

        loader = PackageLoader("fusesearch.reporting", "templates")
        pages = Environment(loader=loader, autoescape=select_autoescape(("html.j2",)), trim_blocks=True)
        pages.filters |= {
            "cell": markdown_cell,
            "data_uri": lambda svg: f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}",
        }
        return pages.get_template(f"page.{suffix}.j2").render(page=self)

    def write_figures(self, out: Path) -> None:
        """Write every figure below ``out``."""
        for section in self.sections:
            for figure in section.figures:
                write_text(out / self.folder / f"{figure.name}.svg", figure.svg + "\n")


def show(sections: Sequence[Section]) -> None:
    """Print tables and paragraphs on the terminal. A table that is too wide stands on its side, if that makes it narrower."""
    from rich.console import Console
    from rich.text import Text

    measure, console = Console(width=1000), Console(highlight=False)
    own = console.width
    for section in sections:
        for table in section.tables:
            forms = [terminal_table(form) for form in (table, turned(table))]
            widths = [measure.measure(form).maximum for form in forms]
            place = int(own < widths[0] > widths[1])
            console.width = max(own, widths[place])  # a table that is cut off is useless; `less -S` shows a wide one
            console.print(forms[place])
        console.width = own
        for paragraph in [*section.text, *section.after]:
            console.print(Text(printable(paragraph), style="dim"))
        console.print()
