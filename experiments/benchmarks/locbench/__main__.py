"""``python -m experiments.benchmarks.locbench FILE``: the counts, on the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    file: Annotated[Path, typer.Argument(help="LocBench's test split, .parquet, .json or .jsonl.", metavar="FILE")],
    repos: Annotated[
        Path | None, typer.Option(help="Folder of bare repositories `owner__name.git`: count by our truth, too.", metavar="DIR")
    ] = None,
) -> None:
    """Count the issues that each reading of FuseSearch's rule keeps; its Table 9 has 456 of 560."""
    from experiments.benchmarks.locbench.counts import PAPER, by_own, by_truth, categories, read
    from fusesearch.reporting.page import Section, show
    from fusesearch.reporting.table import Row, Table

    rows = read(file)
    header = ["rule", f"issues (FuseSearch: {PAPER})"]
    tables = [
        Table("By category", ["category", "issues"], [Row([name, str(count)]) for name, count in categories(rows).items()]),
        Table("By LocBench's own functions", header, [Row([rule, str(count)]) for rule, count in by_own(rows).items()]),
    ]
    text = []
    if repos:
        found = by_truth(rows, repos)
        tables.append(Table("By our truth", header, [Row([rule, str(count)]) for rule, count in found["kept"].items()]))
        had = len(rows) - len(found["left_out"])
        text = [f"Functions differ from LocBench's in {len(found['differ'])} of {had}: {', '.join(found['differ'])}"]
        text += [f"Left out: {name}: {reason}" for name, reason in found["left_out"].items()]
    show([Section("LocBench", text, tables)])


if __name__ == "__main__":
    typer.run(main)
