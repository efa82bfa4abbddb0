"""The page of the study, from its tables and texts."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from experiments.evidence.page import texts_of
from fusesearch.core.storage import read_text, write_text
from fusesearch.reporting.table import ABSENT

HERE = Path(__file__).parent
HEADINGS = [
    "language", "repositories", "thousand lines", "functions of Ctags", "found before (%)", "found (%)", "same last line (%)",
    "ours in Ctags before (%)", "ours in Ctags (%)", "seconds per million lines",
]  # fmt: skip
COLUMNS = ["language", "repository", "files", "lines", "ctags", "found", "ends", "same_end", "spans", "confirmed", "seconds"]
TABLES = ("before", "results")

Rows = list[dict[str, str]]


def write_page() -> None:
    """Make the page again."""
    write_text(HERE / "RESULTS.md", page({name: read_rows(HERE / f"{name}.csv") for name in TABLES}))


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[dict[str, object]]) -> None:
    """A table, a row per line."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a table that :func:`write_rows` wrote."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def page(tables: dict[str, Rows]) -> str:
    """The page: functions by language and repository beside those of an earlier revision, then the finished part about truth."""
    after, earlier = tables["results"], {(row["language"], row["repository"]): row for row in tables["before"]}
    texts = texts_of(HERE)
    parts = ["# Functions of real repositories beside those of Universal Ctags", *texts["What it is"]]
    languages = sorted({row["language"] for row in after})
    grouped = {language: [row for row in after if row["language"] == language] for language in languages}
    totals = [("**all**", after), *grouped.items()]
    parts.append(
        table(HEADINGS, [[name, str(len({row["repository"] for row in rows})), *_cells(rows, earlier)] for name, rows in totals])
    )
    parts += ["## By repository", table(["language", *HEADINGS[1:]], [
        [row["language"], row["repository"], *_cells([row], earlier)] for row in after
    ])]  # fmt: skip
    parts += ["## What differs", *texts["What differs"], read_text(HERE / "truth.md")]
    return "\n\n".join(parts)


def _cells(rows: list[dict[str, str]], earlier: dict[tuple[str, str], dict[str, str]]) -> list[str]:
    old = [earlier[key] for row in rows if (key := (row["language"], row["repository"])) in earlier]
    total, before = ({name: sum(float(row[name]) for row in some) for name in COLUMNS[3:]} for some in (rows, old))
    return [
        f"{total['lines'] / 1000:,.0f}", f"{total['ctags']:,.0f}", _share(before["found"], before["ctags"]),
        _share(total["found"], total["ctags"]), _share(total["same_end"], total["ends"]),
        _share(before["confirmed"], before["spans"]), _share(total["confirmed"], total["spans"]),
        f"{total['seconds'] / total['lines'] * 1e6:.0f}",
    ]  # fmt: skip


def table(header: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [header, ["---"] * len(header), *rows])


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}" if whole else ABSENT
