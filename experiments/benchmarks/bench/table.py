"""The rows as a table on the terminal, as JSON and as ``RESULTS.md``."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from rich.table import Table

from experiments.benchmarks.bench.rows import Row

Results = dict[str, list[Row]]
_MARKS = {True: "yes", False: "no", None: ""}
_HEAD = """\
# Results of the benchmarks

`{command}`, {date}. Ratios are medians over rounds in which the sides take turns, with their range; below 1, the first
side is the faster one. What is measured is said in the modules of this folder.

{machine}
"""


def on_terminal(results: Results) -> Table:
    """For people, in colour."""
    table = Table("subject", "what", "value", "range", "goal", "met", "detail", show_lines=False)
    for subject, rows in results.items():
        for row in rows:
            colour = {True: "green", False: "red", None: ""}[row.met]
            mark = f"[{colour}]{_MARKS[row.met]}[/]" if colour else ""
            table.add_row(subject, row.what, value(row), spread(row), str(row.goal or ""), mark, row.detail)
    return table


def as_json(results: Results, machine: dict[str, str], date: str) -> dict[str, Any]:
    """For programs; a value that could not be measured is null."""
    rows = [{"subject": subject, **_fields(row)} for subject, rows in results.items() for row in rows]
    return {"date": date, **machine, "rows": rows}


def as_markdown(results: Results, machine: dict[str, str], date: str, command: str) -> str:
    """The page that is committed."""
    facts = "\n".join(f"- {name}: {text}" for name, text in machine.items())
    parts = [_HEAD.format(command=command, date=date, machine=facts)]
    for subject, rows in results.items():
        lines = [
            f"| {row.what} | {value(row)} | {spread(row)} | {row.goal or ''} | {_MARKS[row.met]} | {row.detail} |" for row in rows
        ]
        parts.append(
            "\n".join(
                [f"## {subject}", "", "| what | value | range | goal | met | detail |", "|---|---|---|---|---|---|", *lines, ""]
            )
        )
    return "\n".join(parts)


def value(row: Row) -> str:
    """A count as it is, a measured figure with three digits."""
    if math.isnan(row.value):
        return "-"
    return f"{row.value:,.0f}" if row.low is None and float(row.value).is_integer() else _figure(row.value)


def spread(row: Row) -> str:
    """Least and greatest."""
    return "" if row.low is None or row.high is None else f"{_figure(row.low)} to {_figure(row.high)}"


def _figure(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}" if number >= 10 else f"{number:.2f}"


def _fields(row: Row) -> dict[str, Any]:
    fields = dataclasses.asdict(row) | {"goal": str(row.goal) if row.goal else None, "met": row.met}
    return fields | {"value": None if math.isnan(row.value) else row.value}
