"""Sections of tables and figures as Markdown, HTML, LaTeX, or text for a terminal; cells are text, escaped here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markupsafe import Markup

from tasks.core.storage import write_text
from tasks.reporting.tables import Row, Table


@dataclass(frozen=True)
class Figure:
    """An SVG with the name of its file and what it shows."""

    name: str
    caption: str
    svg: str


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs of plain text, tables and figures."""

    title: str
    text: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)


def render(name: str, context: Mapping[str, Any]) -> str:
    """The page ``report.md`` or ``report.html`` of ``title``, ``verdicts``, ``sections``, ``footer`` and its folder ``plots``."""
    from jinja2 import Environment, PackageLoader, select_autoescape

    loader = PackageLoader("tasks.reporting", "templates")
    pages = Environment(loader=loader, autoescape=select_autoescape(("html.j2",)), trim_blocks=True)
    pages.globals["plots"] = "plots"
    pages.filters |= {"svg": Markup, "cell": _markdown_cell}  # SVG is our own output, escaped by matplotlib
    return pages.get_template(f"{name}.j2").render(context)


def write_figures(sections: Sequence[Section], out: Path, folder: str = "plots") -> None:
    """Every figure as ``<folder>/<name>.svg``."""
    for section in sections:
        for figure in section.figures:
            write_text(out / folder / f"{figure.name}.svg", figure.svg + "\n")


def latex(sections: Sequence[Section]) -> str:
    """All tables as ``table`` environments; needs the package booktabs."""
    parts = ["% needs \\usepackage{booktabs}"]
    for section in sections:
        parts += [f"% {line}" for text in section.text for line in text.splitlines()]
        parts += map(_latex_table, section.tables)
    return "\n\n".join(parts) + "\n"


def show(sections: Sequence[Section], printable: Any) -> None:
    """Print tables and paragraphs on the terminal; ``printable`` takes out what could steer it."""
    from rich.console import Console
    from rich.text import Text

    shown = {id(table): _terminal_table(table, printable) for section in sections for table in section.tables}
    measure = Console(width=1000)
    needed = max((measure.measure(table).maximum for table in shown.values()), default=0)
    console = Console(highlight=False)
    console.width = max(console.width, needed)  # a table that is cut says nothing; `less -S` shows a wide one
    for section in sections:
        for table in section.tables:
            console.print(shown[id(table)])
        for paragraph in section.text:
            console.print(Text(printable(paragraph), style="dim"))
        console.print()


def _terminal_table(table: Table, printable: Any) -> Any:
    from rich import box
    from rich.table import Table as Shown
    from rich.text import Text

    shown = Shown(title=printable(table.caption), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(table.header):
        shown.add_column(Text(printable(name)), justify="left" if place < 2 else "right")
    for row in table.rows:
        cells = [printable(text).replace(" [", "\n[", 1) for text in row.cells]
        shown.add_row(*map(Text, cells), style="dim italic" if row.kind == "paper" else "")
    return shown


def _latex_table(table: Table) -> str:
    columns = "ll" + "r" * (len(table.header) - 2)
    head = " & ".join(map(_latex_text, table.header))
    body = "\n".join(_latex_row(row) for row in table.rows)
    return (
        f"\\begin{{table}}\n\\caption{{{_latex_text(table.caption)}}}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n"
        f"{head} \\\\\n\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}\n\\end{{table}}"
    )


def _latex_row(row: Row) -> str:
    cells = []
    for text in row.cells:
        figure, bracket, rest = text.partition(" [")
        small = f" {{\\scriptsize [{_latex_text(rest)}}}" if bracket else ""
        plain = _latex_text(figure)
        cells.append((f"\\textit{{{plain}}}" if row.kind == "paper" and plain else plain) + small)
    return f"{' & '.join(cells)} \\\\"


_LATEX = {
    "\\": "\\textbackslash{}", "&": "\\&", "%": "\\%", "$": "\\$", "#": "\\#", "_": "\\_", "{": "\\{", "}": "\\}",
    "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "<": "\\textless{}", ">": "\\textgreater{}",
    "\u2013": "--", "\u2212": "$-$", "\n": " ", "\r": " ",
}  # fmt: skip


def _latex_text(text: str) -> str:
    return "".join(_LATEX.get(char, char) for char in text)


def _markdown_cell(text: str) -> str:
    """Text that cannot end a cell, nor begin a tag, emphasis, a link or a picture; :class:`Markup` is ours and stays."""
    if isinstance(text, Markup):
        return text
    escaped = text.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("](", "]\\(")
    return escaped.replace("<", "&lt;").replace("\n", " ")
