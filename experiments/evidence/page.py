"""The page over all boards and its chart, made of the committed figures, the committed answers and ``text.md``."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.evidence.chart import Point, quality_cost
from fusesearch.core.schema import Score
from fusesearch.core.storage import read_json, read_text
from fusesearch.evaluation.predictions import score_board
from fusesearch.evaluation.statistics import measure
from fusesearch.reporting.board import COLUMNS, COMPARED, board_table
from fusesearch.reporting.page import Page, Section
from fusesearch.reporting.table import ABSENT, Row, Table

SYSTEMS = (
    "ranker", "bm25", "CoSIL, 32B", "LocAgent, 32B", "CodeScout-1.7B", "CodeScout-4B", "CodeScout-14B",
    "Rovo Dev", "Prometheus, GPT-5", "Kodah, GPT-5-mini", "iSWE, GPT-5.4", "iSWE, Opus 4.5",
)  # fmt: skip
FREE = ("ranker", "bm25")
"""Systems that ask no model."""
PUBLISHED = "published"
POLYBENCH = "SWE-PolyBench Verified"
PRO = "SWE-bench Pro"
PRO_FIGURES = {"file_f1": "file F1", "function_f1": "function F1", "first_file": "first file", "first_function": "first function"}
LANGUAGES = {"java": "Java", "py": "Python", "js": "JavaScript", "ts": "TypeScript", "svelte": "Svelte"}

Rows = Sequence[Mapping[str, Any]]
Scores = Mapping[str, Sequence[Score]]


def made(folder: Path) -> dict[str, str]:
    """The page and the chart of ``folder`` by the names of their files."""
    answers = score_board(folder / "polybench.jsonl")
    scores = {name: answers[name] for name in SYSTEMS if name in answers}
    pro = read_json(folder / "pro.json")["rows"]
    costs = _csv(folder / "costs.csv")
    rows = [*_csv(folder / "figures.csv"), *pro_figures(pro), *polybench_figures(scores)]
    tables = {
        "The boards": [matrix(rows)],
        POLYBENCH: [board_table(scores, "The same issues for all; answers as files and functions of code"), *by_language(scores)],
        PRO: pro_tables(pro),
        "What it costs": [cost_table(costs)],
    }
    texts = texts_of(folder)
    sections = [Section(title, paragraphs, tables.get(title, [])) for title, paragraphs in texts.items()]
    return {
        "RESULTS.md": Page("Evidence: localizers on real issues", sections).render("md"),
        "quality_cost.svg": chart(scores, costs),
    }


def matrix(rows: Rows) -> Table:
    """Boards and figures as rows, systems as columns; a star marks what others published by their own program."""
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        if row["system"] in SYSTEMS:
            star = "*" if row["how"] == PUBLISHED else ""
            cells.setdefault((row["board"], row["figure"]), {})[row["system"]] = interval(row) + star
    body = [Row([board, name, *(found.get(system, ABSENT) for system in SYSTEMS)]) for (board, name), found in cells.items()]
    return Table("In percent, 95% intervals", ["board", "figure", *SYSTEMS], body)


def polybench_figures(scores: Scores) -> list[dict[str, Any]]:
    """The matrix' rows of a board: means over each system's instances."""
    found = [(column, name, measure({0: own}, COLUMNS[column])) for column in COLUMNS for name, own in scores.items()]
    return [
        {"board": f"{POLYBENCH}, our rule", "figure": column, "system": name, "how": "here"} | _as_row(one)
        for column, name, one in found
        if one is not None
    ]


def by_language(scores: Scores) -> list[Table]:
    """File F1 by the language of the first file of the truth, for the systems that answered every language."""
    most = max(map(len, scores.values()))
    shown = {name: own for name, own in scores.items() if len(own) >= most - 1}
    groups: dict[str, dict[str, list[Score]]] = {}
    for name, own in shown.items():
        for score in own:
            suffix = score.true_files[0].rpartition(".")[2]
            groups.setdefault(LANGUAGES.get(suffix, suffix), {}).setdefault(name, []).append(score)
    rows = []
    for group, found in sorted(groups.items()):
        figures = [measure({0: found.get(name, [])}, COLUMNS[COMPARED]) for name in shown]
        cells = [ABSENT if one is None else interval(_as_row(one)) for one in figures]
        rows.append(Row([group, str(max(map(len, found.values()))), *cells]))
    return [Table(f"{COMPARED} by language", ["language", "issues", *shown], rows)]


def pro_figures(rows: Rows) -> list[dict[str, Any]]:
    """The matrix' rows of Pro: the problem alone, over the half that no rule was chosen on."""
    return [
        {**row, "board": f"{PRO}, half not looked at", "figure": PRO_FIGURES[row["metric"]], "how": "here"}
        for row in rows
        if (row["half"], row["group"], row["text"]) == ("odd", "all", "PROBLEM") and row["metric"] in PRO_FIGURES
    ]


def pro_tables(rows: Rows) -> list[Table]:
    """Systems and lengths by half and by text, and ``ranker`` by language."""
    shown = [row for row in rows if row["group"] == "all" and not row["system"].startswith("bm25, fixed")]
    every = [row for row in shown if row["metric"] in ("file_f1", "function_f1")]
    columns = [(half, metric) for half in ("even", "odd") for metric in ("file_f1", "function_f1")]
    header = [f"{half}: {PRO_FIGURES[metric]}" for half, metric in columns]
    lengths = _crossed(every, ("text", "system"), columns)
    own = [row for row in rows if row["group"] == "language" and row["system"] == "ranker" and row["half"] != "both"]
    languages = _crossed(own, ("text", "value"), columns)
    return [
        Table("Systems and lengths; rules were chosen on the even half", ["text", "system", *header], lengths),
        Table("`ranker` by language", ["text", "language", *header], languages),
    ]


def cost_table(costs: Rows) -> Table:
    """What an issue costs, median over its issues."""
    names = ["system", "issues", "seconds", "tokens", "requests", "what is counted"]
    return Table(
        "An issue of SWE-PolyBench Verified, median", names, [Row([row[name] or ABSENT for name in names]) for row in costs]
    )


def chart(scores: Scores, costs: Rows) -> str:
    """File F1 on SWE-PolyBench against seconds."""
    points = []
    for row in costs:
        found = measure({0: scores[row["system"]]}, COLUMNS[COMPARED]) if row["system"] in scores else None
        if found is not None and found.low is not None and found.high is not None:
            note = f"{row['tokens']} tokens" if row["tokens"] else row["note"]
            ends = 100 * found.estimate, 100 * found.low, min(100 * found.high, 100.0)
            points.append(Point(row["system"], float(row["seconds"].replace(",", "")), *ends, note, row["system"] not in FREE))
    return quality_cost(points, "SWE-PolyBench Verified: right files against time", "file F1, % (95%)")


def texts_of(folder: Path) -> dict[str, list[str]]:
    """The paragraphs below each heading of ``text.md`` in the folder of a study; lists, tables and code keep their lines."""
    found: dict[str, list[str]] = {}
    for part in read_text(folder / "text.md").split("## ")[1:]:
        title, _, body = part.partition("\n")
        found[title.strip()] = [
            paragraph if paragraph[0] in "-|`!" else " ".join(paragraph.split("\n")) for paragraph in body.strip().split("\n\n")
        ]
    return found


def interval(row: Mapping[str, Any]) -> str:
    """``51.2 [48.0, 54.4]``, of figures in percent."""
    mean, low, high = (None if row[key] in (None, "") else float(row[key]) for key in ("mean", "low", "high"))
    return f"{mean:.1f}" if low is None or high is None else f"{mean:.1f} [{low:.1f}, {high:.1f}]"


def _crossed(rows: Rows, keys: tuple[str, ...], columns: Sequence[tuple[str, str]]) -> list[Row]:
    """A row for each value of ``keys``, with the figure of each half and metric in ``columns``."""
    found: dict[tuple[str, ...], dict[tuple[str, str], str]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys), {})[row["half"], row["metric"]] = interval(row)
    return [
        Row([*key, *(cells.get(name, ABSENT) for name in columns)])
        for key, cells in found.items()
        if any(map(cells.get, columns))
    ]


def _as_row(found: Any) -> dict[str, Any]:
    ends = {"low": found.low, "high": found.high}
    return {"mean": 100 * found.estimate} | {name: None if end is None else 100 * end for name, end in ends.items()}


def _csv(path: Path) -> list[dict[str, str]]:
    return [*csv.DictReader(read_text(path).splitlines())]
