"""The page: text from ``text.md``, and tables made from the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.evidence.systems import READINGS
from fusesearch.core.storage import read_text
from fusesearch.evaluation.calibration import SURE
from fusesearch.reporting.page import Page, Section
from fusesearch.reporting.table import ABSENT, MINUS, Row, Table

HEADINGS = {f"{level}_recall@{k}": f"{level} R@{k}" for level in ("file", "function") for k in (1, 5)}
UNSEEN = "Repositories that nobody looked at"
FINISHED_FIRST = tuple(
    f"SWE-bench {name}{part}"
    for name in ("Verified", "Lite")
    for part in ("", ", by repository", ", confidence", ", together with models")
)
FINISHED = (
    "Loc-Bench", "Other languages: Multi-SWE-bench", "With the lexicon", "Confidence on real issues",
    "Public histories, before and after", "The same issue in other words", "How the rule of fusion was chosen",
    "What it was trained on", "What the features are worth", "Fifteen misses, read",
)  # fmt: skip
"""Sections whose tables are in ``text.md``: their programs are in git, at the tag before-say-no or before."""


def results_page(results: Mapping[str, Any], texts: Mapping[str, Sequence[str]]) -> str:
    """The page in Markdown; ``texts`` has the paragraphs of each section by its title."""
    filled: list[Section] = []

    def add(title: str, *tables: Table | None) -> None:
        shown = [table for table in tables if table is not None and table.rows]
        if shown or title in texts:
            filled.append(Section(title, list(texts.get(title, ())), shown))

    add("What this is")
    for title in FINISHED_FIRST:
        add(title)
    add(UNSEEN)
    for name, found in results["unseen"]["sets"].items():
        add(f"{UNSEEN}: {name}", _systems(found), _differences(found["differences"]))
        add(f"{UNSEEN}: {name}, by language and repository", _records(found["languages"]), _records(found["repositories"]))
        add(f"{UNSEEN}: {name}, confidence", *_calibration(found["calibration"]))
    for title in FINISHED:
        add(title)
    add("What could not be had", _left_out(results["unseen"]["left_out"]))
    add("How it was measured")
    return Page("Evidence: localizers without a model on real issues", filled).render("md")


def _systems(found: Mapping[str, Any]) -> Table:
    first = found["table"][0]
    caption = (
        f"{first['instances']} instances, {first['function_recall@1']['n']} of which modify a function; "
        f"F1 on the {first['f1 first of each']['n']} of the protocol fusesearch"
    )
    header = ["system", *HEADINGS.values(), *(f"F1, {reading}" for reading in READINGS), "seconds"]
    keys = [*HEADINGS, *(f"f1 {reading}" for reading in READINGS)]
    rows = [
        Row(
            [
                row["system"],
                *(interval_cell(row[key]) for key in keys),
                f"{row['seconds']['median']:.2f}" if row["seconds"] else ABSENT,
            ]
        )
        for row in found["table"]
    ]
    return Table(caption, header, rows)


def _differences(rows: Sequence[Mapping[str, Any]]) -> Table:
    found = {(row["first"], row["second"], row["metric"]): row for row in rows}
    pairs = dict.fromkeys((row["first"], row["second"]) for row in rows)
    metrics = {**HEADINGS, "f1": "F1"}
    table_rows = [
        Row([f"{first} {MINUS} {second}", *(difference_cell(found.get((first, second, metric))) for metric in metrics)])
        for first, second in pairs
    ]
    return Table("Paired differences in points, p after Holm's correction", ["difference", *metrics.values()], table_rows)


def _records(rows: Sequence[Mapping[str, Any]]) -> Table:
    cells = [
        [percent(value) if isinstance(value, float) else ABSENT if value is None else str(value) for value in row.values()]
        for row in rows
    ]
    return Table("Right first answers, in percent", [name.replace("_recall", " R") for name in rows[0]], [*map(Row, cells)])


def _calibration(found: Mapping[str, Any]) -> list[Table]:
    rows = [
        Row([f"{row['from']:.1f} to {row['to']:.1f}", str(row["issues"]), percent(row["stated"]), percent(row["right"])])
        for row in found["bins"]
    ]
    sure = ABSENT if found["sure_right"] is None else percent(found["sure_right"])
    caption = (
        f"Confidence in the first file, in percent. From {SURE} on: {percent(found['sure'])}% of the issues, "
        f"{sure}% of them right. "
        f"Expected calibration error: {percent(found['expected_error'])} points"
    )
    if perfect := found.get("perfect"):  # not in results of before 2026-11-27
        caption += (
            f"; perfect confidences would show {percent(perfect['mean'])} on average, "
            f"and {percent(perfect['high'])} or more in one draw of twenty"
        )
    return [Table(caption, ["confidence", "issues", "stated, mean", "right"], rows)]


def _left_out(reasons: Mapping[str, str]) -> Table:
    return Table("Left out", ["instance", "why"], [Row([name, reason]) for name, reason in sorted(reasons.items())])


def texts_of(folder: Path) -> dict[str, list[str]]:
    """The paragraphs below each heading of ``text.md`` in the folder of a study; lists, tables and code keep their lines."""
    found: dict[str, list[str]] = {}
    for part in read_text(folder / "text.md").split("## ")[1:]:
        title, _, body = part.partition("\n")
        found[title.strip()] = [
            paragraph if paragraph[0] in "-|`" else " ".join(paragraph.split("\n")) for paragraph in body.strip().split("\n\n")
        ]
    return found


def difference_cell(row: Mapping[str, Any] | None) -> str:
    """``+1.2 [-0.3, +2.7] p=0.120``, in points; a dash for a difference without an interval."""
    if row is None or row["low"] is None:
        return ABSENT
    p = "" if row["p_holm"] is None else f" p={row['p_holm']:.3f}" if row["p_holm"] >= 0.001 else " p<0.001"
    return f"{100 * row['estimate']:+.1f} [{100 * row['low']:+.1f}, {100 * row['high']:+.1f}]{p}"


def interval_cell(found: Mapping[str, Any] | None) -> str:
    """``51.2 [48.0, 54.4]``, in percent; a dash for ``None``."""
    if found is None:
        return ABSENT
    text = percent(found["estimate"])
    return text if found["low"] is None else f"{text} [{percent(found['low'])}, {percent(found['high'])}]"


def percent(value: float) -> str:
    """``51.2``, of a share."""
    return f"{100 * value:.1f}"
