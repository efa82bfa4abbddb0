"""A board as a table: systems as rows, means over their instances, and what the first one has more than each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from fusesearch.core.schema import Score
from fusesearch.evaluation.metrics import METRICS
from fusesearch.evaluation.quality import recall_at
from fusesearch.evaluation.statistics import Measured, Statistic, averaged, difference, mean, measure
from fusesearch.reporting.table import MINUS, Row, Table, cell

COLUMNS: dict[str, Statistic] = {
    "file recall": mean("file_recall"),
    "file precision": mean("file_precision"),
    "file F1": mean("file_f1"),
    "first file": averaged("file_recall@1", "file", partial(recall_at, k=1)),
    "function F1": mean("function_f1"),
}
"""Over all instances of a system, functions over those whose truth names one."""
COMPARED = "file F1"


def board_table(scores: Mapping[str, Sequence[Score]], caption: str = "") -> Table:
    """A row per system, in percent with 95% intervals; differences are of the first system, paired over common instances."""
    first = next(iter(scores))
    rows = [Row([name, str(len(own)), *map(figure, _measured(own)), _more(scores, first, name)]) for name, own in scores.items()]
    return Table(caption, ["system", "issues", *COLUMNS, f"{first} {MINUS} it, {COMPARED}"], rows)


def figure(found: Measured | None, signed: bool = False) -> str:
    """``51.2 [48.0, 54.4]``, in percent."""
    return cell(found, METRICS["file_macro_f1"], signed)


def _measured(scores: Sequence[Score]) -> list[Measured | None]:
    return [measure({0: scores}, column) for column in COLUMNS.values()]


def _more(scores: Mapping[str, Sequence[Score]], first: str, name: str) -> str:
    found = None if name == first else difference({0: scores[first]}, {0: scores[name]}, COLUMNS[COMPARED])
    return figure(found, signed=True)
