"""The page of the study, from its tables and texts."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from scipy.stats import binomtest

from experiments.evidence.page import texts_of
from fusesearch.core.storage import write_text
from fusesearch.reporting.table import ABSENT

HERE = Path(__file__).parent
HEADINGS = [
    "language", "repositories", "thousand lines", "functions of Ctags", "found before (%)", "found (%)", "same last line (%)",
    "ours in Ctags before (%)", "ours in Ctags (%)", "seconds per million lines",
]  # fmt: skip
COLUMNS = ["language", "repository", "files", "lines", "ctags", "found", "ends", "same_end", "spans", "confirmed", "seconds"]
COMMITS = [
    "language",
    "repository",
    "commit",
    "files",
    "ours",
    "theirs",
    "both",
    "only_ours",
    "only_theirs",
    "unread",
    "milliseconds",
]
DIFFERENCES = ["language", "repository", "commit", "path", "name", "only", "git", "class"]
CHANGES = ["set", "language", "repository", "instance", "before", "after", "gained", "lost", "unread"]
TABLES = ("before", "results", "commits_before", "commits", "differences", "changes")

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
    """The page: functions by language and repository beside those of an earlier revision, then the truth of commits."""
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
    parts += ["## What differs", *texts["What differs"], "## Truth of real commits", *texts["Truth of real commits"]]
    parts += [commit_table(tables["commits_before"], tables["commits"])]
    parts += [*texts["Every difference"], class_table(tables["differences"]), *texts["What was wrong"]]
    parts += ["## What it did to data", *texts["What it did to data"], change_table(tables["changes"]), *texts["Scored again"]]
    return "\n\n".join(parts) + "\n"


def commit_table(before: Rows, after: Rows) -> str:
    """Truth of commits beside the other reading, by language."""
    earlier = {row["commit"]: _agrees(row) for row in before}
    header = [
        "language", "commits", "functions ours", "functions theirs", "both", "functions agreed (%)", "commits agreed before (%)",
        "commits agreed (%)", "commits won, lost", "p", "ms per commit",
    ]  # fmt: skip
    cells = []
    for name, rows in _by(after, "language"):
        total = Counter[str]()
        for row in rows:
            total.update({column: int(row[column]) for column in COMMITS[4:9]})
        pairs = [(earlier[row["commit"]], _agrees(row)) for row in rows]
        won, lost = pairs.count((False, True)), pairs.count((True, False))
        cells.append([
            name, str(len(rows)), *(f"{total[column]:,}" for column in ("ours", "theirs", "both")),
            _share(total["both"], total["both"] + total["only_ours"] + total["only_theirs"]),
            _interval(sum(old for old, _ in pairs), len(pairs)), _interval(sum(new for _, new in pairs), len(pairs)),
            f"{won}, {lost}", _p(won, lost),
            f"{sum(int(row['milliseconds']) for row in rows) / len(rows):.0f}",
        ])  # fmt: skip
    return table(header, cells)


def class_table(rows: Rows) -> str:
    """The differences by class."""
    cells = [
        [*name.split(": ", 1), str(len(some)), str(sum(row["git"] == "1" for row in some)), ", ".join(
            f"{language} {len(part)}" for language, part in _by(some, "language", total=False)
        )]
        for name, some in _by(rows, "class", total=False)
    ]  # fmt: skip
    return table(["verdict", "class", "functions", "named by git", "languages"], cells)


def change_table(rows: Rows) -> str:
    """What an earlier revision and this one make of the same patches."""
    header = [
        "set", "language", "patches", "functions before", "functions", "gained", "lost", "patches changed",
        "without a function before", "without a function", "unread",
    ]  # fmt: skip
    cells = []
    for kind, of_kind in _by(rows, "set", total=False):
        for name, some in _by(of_kind, "language"):
            total = {column: sum(int(row[column]) for row in some) for column in CHANGES[4:]}
            cells.append([
                kind, name, str(len(some)), *(f"{total[column]:,}" for column in CHANGES[4:8]),
                str(sum(row["gained"] != "0" or row["lost"] != "0" for row in some)),
                *(str(sum(row[column] == "0" for row in some)) for column in ("before", "after")), str(total["unread"]),
            ])  # fmt: skip
    return table(header, cells)


def _by(rows: Rows, column: str, *, total: bool = True) -> list[tuple[str, Rows]]:
    values = sorted({row[column] for row in rows})
    parts = [(value, [row for row in rows if row[column] == value]) for value in values]
    return [("**all**", rows), *parts] if total and len(parts) > 1 else parts


def _agrees(row: dict[str, str]) -> bool:
    return row["only_ours"] == row["only_theirs"] == "0"


def _p(won: int, lost: int) -> str:
    p = binomtest(won, won + lost).pvalue if won + lost else None
    return ABSENT if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def _interval(part: int, whole: int) -> str:
    low, high = binomtest(part, whole).proportion_ci(method="wilson")
    return f"{100 * part / whole:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


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
