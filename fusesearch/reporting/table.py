"""Tables. Cells are text, never markup, and look the same in Markdown, in HTML and on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from markupsafe import Markup

from fusesearch.core.text import printable
from fusesearch.evaluation.metrics import Metric
from fusesearch.evaluation.statistics import Difference

ABSENT = "–"  # noqa: RUF001
MINUS = "−"  # noqa: RUF001
ARMS = {"base": "base", "rl": "RL without SFT", "sft": "SFT", "sft+rl": "SFT + RL", "lexical": "lexical (teacher)"}
"""The arms of a reproduction in the order of the paper's table 2, with their printed names."""


@dataclass(frozen=True)
class Row:
    """A printed row. ``kind`` is ``ours`` or ``paper``."""

    cells: list[str]
    kind: str = "ours"


@dataclass(frozen=True)
class Table:
    """A printed table."""

    caption: str
    header: list[str]
    rows: list[Row] = field(default_factory=list)


def cell(found: Any, of: Metric, signed: bool = False) -> str:
    """``estimate [low, high]`` of any object with these attributes; a dash for ``None``."""
    if found is None:
        return ABSENT
    if found.low is None or found.high is None:
        return of.show(found.estimate, signed)
    return f"{of.show(found.estimate, signed)} [{of.show(found.low, signed)}, {of.show(found.high, signed)}]"


def shown(value: float | None, digits: int = 2) -> str:
    """A figure of one episode, or a dash if it is missing."""
    if value is None or not isfinite(value):
        return ABSENT
    return f"{value:,}" if isinstance(value, int) else f"{value:.{digits}f}"


def pair_name(row: Any, labels: Mapping[str, str]) -> str:
    """The heading of a difference ``first - second``."""
    return f"{labels.get(row.first, row.first)} {MINUS} {labels.get(row.second, row.second)}"


def difference_cell(row: Difference | None, of: Metric, star: bool | None = None) -> str:
    """``difference [low, high]``, with a star if it is significant after correction, or as ``star`` says."""
    text = cell(row, of, signed=True)
    return text.replace(" [", " * [", 1) if row and (row.is_significant if star is None else star) else text


def tested_cell(row: Difference | None, of: Metric) -> str:
    """As :func:`difference_cell`, with the corrected p."""
    text = difference_cell(row, of)
    return text if row is None or row.p_holm is None else f"{text} p={'<0.001' if row.p_holm < 0.001 else f'{row.p_holm:.3f}'}"


def difference_table(
    caption: str,
    rows: Sequence[Difference],
    columns: Sequence[Metric],
    labels: Mapping[str, str],
    show: Callable[[Difference | None, Metric], str] = tested_cell,
) -> Table:
    """One row per pair of arms, one column per metric."""
    found = {(row.first, row.second, row.metric): row for row in rows}
    pairs = {(row.first, row.second): pair_name(row, labels) for row in rows}
    table_rows = [Row([name, *(show(found.get((*pair, of.key)), of) for of in columns)]) for pair, name in pairs.items()]
    return Table(caption, ["Difference", *(of.of_differences for of in columns)], table_rows)


def turned(table: Table) -> Table:
    """The table with its columns as rows; the first line names the rows."""
    columns = zip(table.header, *(row.cells for row in table.rows), strict=True)
    (first, *header), *rows = ([str(text) for text in column] for column in columns)
    return Table(table.caption, [first, *header], [Row(list(cells)) for cells in rows])


def markdown_cell(text: str) -> str:
    """Escape text so that it cannot end a cell or start a tag, emphasis, a link or a picture. Our own :class:`Markup` stays."""
    if isinstance(text, Markup):
        return text
    escaped = text.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("](", "]\\(")
    return escaped.replace("<", "&lt;").replace("\n", " ")


def terminal_table(table: Table) -> Any:
    """A rich table, with each interval below its figure."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    rich_table = RichTable(title=printable(table.caption), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(table.header):
        rich_table.add_column(Text(printable(name)), justify="left" if place < 2 else "right")
    for row in table.rows:
        cells = [printable(text).replace(" [", "\n[", 1) for text in row.cells]
        rich_table.add_row(*map(Text, cells), style="dim italic" if row.kind == "paper" else "")
    return rich_table
