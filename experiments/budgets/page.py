"""The page: text from ``text.md``, tables and figures from the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from experiments.budgets.run import FIGURES
from fusesearch.evaluation.metrics import METRICS
from fusesearch.evaluation.statistics import Difference
from fusesearch.reporting import charts
from fusesearch.reporting.page import Figure, Page, Section
from fusesearch.reporting.table import Row, Table, cell, difference_table, records_table

TITLE = "Turn budgets and enforced calls"


def results_page(found: Mapping[str, Any], texts: Mapping[str, Sequence[str]], paper: Sequence[Mapping[str, str]]) -> Page:
    """The page. ``paper`` are the printed values of FuseSearch's figure 1."""
    kinds = {"Turn budgets": "turns", "Enforced calls": "calls"}
    drawn = {
        "Turn budgets": _figure(found["turns"], "f1_macro", "turns", "F1 under budgets of turns (FuseSearch figure 1a)"),
        "Enforced calls": _figure(
            found["calls"], "redundancy_call", "calls",
            "Redundant calls when each turn that searches has so many calls (FuseSearch figure 1b)",
        ),
    }  # fmt: skip
    filled = [Section("What this is", list(texts["What this is"]))]
    for title, kind in kinds.items():
        tables = [_arms(found[kind], kind), _differences(found[f"{kind}, differences"])]
        beside = [records_table("FuseSearch figure 1b, as printed (%)", paper)] if kind == "calls" else []
        filled.append(Section(title, list(texts.get(title, ())), [*tables, *beside], drawn[title]))
    filled += [Section(title, list(text)) for title, text in texts.items() if title not in {"What this is", *kinds}]
    seeds = "; ".join(f"{name}: {', '.join(map(str, known))}" for name, known in found["seeds"].items())
    return Page(TITLE, filled, footer=[("Held-out instances", str(found["instances"])), ("Seeds", seeds)])


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


def _figure(rows: Sequence[Mapping[str, Any]], key: str, kind: str, caption: str) -> list[Figure]:
    of = METRICS[key]
    marks = []
    for row in rows:
        student, _, budget = row["arm"].rpartition(", ")
        if row[key]:
            marks.append({"arm": budget, "who": student, **charts.whisker(_of(row[key]), of)})
    return charts.figure(kind, caption, charts.estimates(marks, of.heading))
