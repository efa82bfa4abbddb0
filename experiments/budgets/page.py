"""The page: text from ``text.md``, and tables made from the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fusesearch.core.storage import read_csv
from fusesearch.evaluation.metrics import METRICS
from fusesearch.evaluation.statistics import Difference
from fusesearch.reporting.page import Page, Section
from fusesearch.reporting.table import Row, Table, cell, difference_table, records_table

FIGURES = (
    "f1_macro", "file_macro_f1", "function_macro_f1", "turns", "calls", "calls_per_turn", "redundancy", "redundancy_call",
    "tokens_billed",
)  # fmt: skip
FIGURE_1B = Path(__file__).parents[1] / "reference" / "fusesearch_figure1_redundancy.csv"


def results_page(found: Mapping[str, Any], texts: Mapping[str, Sequence[str]]) -> str:
    """The page in Markdown; ``texts`` has the paragraphs of each section by its title."""
    kinds = {"Turn budgets": "turns", "Enforced calls": "calls"}
    filled = [Section("What this is", list(texts["What this is"]))]
    for title, kind in kinds.items():
        tables = [_arms(found[kind], kind), _differences(found[f"{kind}, differences"])]
        beside = [records_table("FuseSearch figure 1b, as printed (%)", read_csv(FIGURE_1B))] if kind == "calls" else []
        filled.append(Section(title, list(texts.get(title, ())), [*tables, *beside]))
    filled += [Section(title, list(text)) for title, text in texts.items() if title not in {"What this is", *kinds}]
    seeds = "; ".join(f"{name}: {', '.join(map(str, known))}" for name, known in found["seeds"].items())
    footer = [("Held-out instances", str(found["instances"])), ("Seeds", seeds)]
    return Page("Turn budgets and enforced calls", filled, footer=footer).render("md")


def _arms(rows: Sequence[Mapping[str, Any]], kind: str) -> Table:
    keys = [key for key in FIGURES if any(row[key] for row in rows)]
    cells = [[row["arm"], *(cell(_of(row[key]), METRICS[key]) for key in keys)] for row in rows]
    caption = f"By {kind} allowed" if kind == "turns" else "By calls that each turn must have"
    return Table(caption, ["student", *(METRICS[key].heading for key in keys)], [*map(Row, cells)])


def _of(found: Mapping[str, float] | None) -> SimpleNamespace | None:
    return SimpleNamespace(**found) if found else None


def _differences(rows: Sequence[Mapping[str, Any]]) -> Table:
    known = [Difference.model_validate(row) for row in rows]
    columns = [METRICS[key] for key in dict.fromkeys(row.metric for row in known)]
    return difference_table("Paired differences, p after Holm's correction over the pairs of a column", known, columns, {})
