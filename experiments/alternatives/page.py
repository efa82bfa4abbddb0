"""The page: text from ``text.md``, and tables made from the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.evidence.page import TITLES
from experiments.pages import difference_cell, interval_cell
from fusesearch.reporting.page import Page, Section
from fusesearch.reporting.table import MINUS, Row, Table

RULE_TITLES = {"one file, pooled": "F1 pooled, one file", "all, mean": "F1 mean, all"}
"""F1 as FuseSearch and as CodeScout report it: which instances count, and the average."""
FIGURES = [f"{level}_{figure}" for level in ("file", "function") for figure in ("precision", "recall", "f1")]


def results_page(results: Mapping[str, Any], texts: Mapping[str, Sequence[str]]) -> str:
    """The page in Markdown; ``texts`` has the paragraphs of each section by its title."""
    filled = [Section("What this is", list(texts.get("What this is", ())))]
    for name, found in results["sets"].items():
        title = TITLES.get(name, name)
        parts = {
            title: [_how_often(found), _by_count(found["by count"])],
            f"{title}: what F1 against gold can be worth": [_ceiling(found["ceiling"])],
            f"{title}: the order of systems": [
                table for rule, rows in found["order"].items() for table in _order(rule, rows, found["readings"])
            ]
            + [_firsts(found["firsts"])],
            f"{title}: what could not be used": [_faults(found)] if found["faults"] else [],
        }
        filled += [Section(part, list(texts.get(part, ())), tables) for part, tables in parts.items() if part in texts or tables]
    rest = [title for title in texts if title not in {section.title for section in filled}]
    filled += [Section(title, list(texts[title])) for title in rest]
    return Page("Several right answers: patches that resolve an issue, beside the gold patch", filled).render("md")


def _how_often(found: Mapping[str, Any]) -> Table:
    caption = (
        f"{found['patches']:,} resolving patches for {found['with a patch']} of {found['issues']} issues: what they modify "
        "beside what the gold patch modifies"
    )
    header = ["level", "relation", "patches, %", "issues with such a patch", "issues without any other"]
    rows = [
        [row["level"], row["relation"], interval_cell(row["patches"])]
        + [f"{row[key]} of {row['instances']}" for key in ("some", "only")]
        for row in found["how often"]
    ]
    return Table(caption, header, [*map(Row, rows)])


def _by_count(rows: Sequence[Mapping[str, Any]]) -> Table:
    header = ["patches known", "issues", "other answers, mean", "issues with another answer", "with other files"]
    cells = [
        [row["patches"], str(row["instances"]), f"{row['answers']:.2f}"]
        + [f"{row[key]} ({100 * row[key] / row['instances']:.0f}%)" for key in ("other answer", "other files")]
        for row in rows
    ]
    return Table("Distinct answers that differ from the gold patch, by the number of patches known", header, [*map(Row, cells)])


def _ceiling(rows: Sequence[Mapping[str, Any]]) -> Table:
    header = ["patches", "issues", *RULE_TITLES.values(), *(_heading(key) for key in FIGURES)]
    cells = [[row["patches"], str(row["issues"]), *(interval_cell(row[key]) for key in (*RULE_TITLES, *FIGURES))] for row in rows]
    return Table(
        "Resolving patches scored as answers against the gold patch; P, R and F1 of a level are pooled",
        header,
        [*map(Row, cells)],
    )


def _heading(key: str) -> str:
    level, _, figure = key.partition("_")
    return f"{level} {'F1' if figure == 'f1' else figure[0].upper()}"


def _order(rule: str, found: Mapping[str, Any], readings: Mapping[str, str]) -> list[Table]:
    header = ["system", "read by", "against gold", "place", "against the best", "place", "gain", "gain, answers of two systems"]
    header.append("against gold, other issues")
    rows = []
    for row in found["systems"]:
        gold, best, others = (interval_cell(row[key]) for key in ("gold", "best", "others"))
        changes = [difference_cell({**row[key], "p_holm": None}) for key in ("gain", "gain of two")]
        places = [str(row[f"place {key}"]) for key in ("gold", "best")]
        rows.append([row["system"], readings[row["system"]], gold, places[0], best, places[1], *changes, others])
    summary = found["summary"]
    caption = (
        f"{RULE_TITLES[rule]}, on {found['systems'][0]['issues']} issues. Of {summary['pairs']} pairs {summary['turned']} turn "
        f"({summary['turned and decided']} of them decided against either); {summary['decided against gold']} are decided "
        f"against gold, {summary['decided against the best']} against the best, {summary['decided against both']} against "
        f"both; {summary['gap moved']} gaps are shown to change. Kendall's tau: {summary['tau']:.2f}"
    )
    changed = [row for row in found["pairs"] if row["turned"] or row["moved"] or row["decided"][0] != row["decided"][1]]
    pairs = [
        [f"{row['first']} {MINUS} {row['second']}", *(difference_cell(row[key]) for key in ("gold", "best", "gain"))]
        for row in changed
    ]
    columns = ["difference", "against gold", "against the best", "change"]
    return [
        Table(caption, header, [*map(Row, rows)]),
        Table(f"{RULE_TITLES[rule]}: pairs that change, in points; p after Holm's correction", columns, [*map(Row, pairs)]),
    ]


def _firsts(rows: Sequence[Mapping[str, Any]]) -> Table:
    keys = [f"{level} {key}" for level in ("file", "function") for key in ("gold", "any")]
    header = ["system", "issues", "first file in gold", "in any accepted", "first function in gold", "in any accepted"]
    cells = [[row["system"], str(row["issues"]), *(interval_cell(row[key]) for key in keys)] for row in rows]
    return Table("How often the first place is right, %", header, [*map(Row, cells)])


def _faults(found: Mapping[str, Any]) -> Table:
    rows = [[fault, str(row["patches"]), " ".join(row["example"])[:100]] for fault, row in found["faults"].items()]
    return Table("Resolving patches without an answer", ["why", "patches", "example"], [*map(Row, rows)])
