"""``fusesearch compare``: tables of what ``evaluate`` ran, beside the papers'."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fusesearch.cli.output import save_text

if TYPE_CHECKING:
    from fusesearch.evaluation.results import CellResult


def compare(
    folders: Annotated[list[Path], typer.Argument(help="Folders that `evaluate` wrote.", metavar="DIR...")],
    protocol: Annotated[str, typer.Option(help="How to score; see below.", metavar="NAME")] = "fusesearch",
    format_: Annotated[Literal["terminal", "markdown", "html"], typer.Option("--format", help="Of the tables.")] = "terminal",
    out: Annotated[Path | None, typer.Option(help="By default stdout, or an .html in DIR.", metavar="PATH")] = None,
    against: Annotated[str | None, typer.Option(help="Test each system against this one only.", metavar="SYSTEM")] = None,
    reference: Annotated[Path, typer.Option(help="Folder of the papers' tables.", metavar="DIR")] = Path("experiments/reference"),
) -> None:
    """Compare evaluated systems under one protocol.

    Prints for each benchmark: the systems with intervals and errored episodes, how they search and what that costs, and
    paired tests with Holm's correction. Adds the paper's rows if the paper has some for this protocol and the benchmark's
    name contains `verified` or `locbench`. Protocols are fusesearch, single_file, codescout, tooltrain, locagent, exact; coreqa
    and swe-qa after `fusesearch judge`. With html, also plots calls by turn. `fusesearch view` shows an episode
    of a cell.

    ```
    fusesearch compare results --protocol tooltrain
    fusesearch compare results more --format html --out page.html
    ```
    """
    from fusesearch.evaluation.judged import judged
    from fusesearch.evaluation.judges import RUBRICS
    from fusesearch.evaluation.protocols import protocol_named
    from fusesearch.evaluation.results import read_results
    from fusesearch.reporting.comparison import compare_cells
    from fusesearch.reporting.comparison_pages import sections_of
    from fusesearch.reporting.page import Page, Section, show

    rubric = RUBRICS.get(protocol)
    results = read_results(folders)
    cells, chosen = judged(results.cells, rubric) if rubric else (results.cells, protocol_named(protocol))
    comparisons = [compare_cells(rows, chosen, reference=reference, against=against) for rows in _by_benchmark(cells)]
    sections = [section for row in comparisons for section in sections_of(row, figures=format_ == "html")]
    left = [
        f"Left out, because it is not finished: {one}. Run `fusesearch evaluate` again to resume." for one in results.unfinished
    ]
    if format_ == "terminal" and out is None:
        return show([*sections, Section("", text=left)])
    revisions = dict.fromkeys(row.manifest.revision[:12] for row in results.cells)
    searched = dict.fromkeys(str(row.folder.parent.parent) for row in results.cells)
    footer = [("Results", ", ".join(searched)), ("Git revision", ", ".join(revisions))]
    page = Page("Localizers compared", [*([Section("Left out", left)] if left else []), *sections], footer=footer)
    if format_ == "html":
        out = out or folders[0] / f"compare-{protocol}.html"
    text = page.render("html" if format_ == "html" else "md")
    if out is not None:
        save_text(out, text)
    typer.echo(out or text)


def print_quality(folder: Path) -> None:
    """Print the quality of every system in a folder of results, a table per benchmark."""
    from fusesearch.evaluation.protocols import protocol_named
    from fusesearch.evaluation.results import read_results
    from fusesearch.reporting.comparison import compare_cells
    from fusesearch.reporting.comparison_pages import quality_table
    from fusesearch.reporting.page import Section, show

    for rows in _by_benchmark(read_results([folder]).cells):
        questions = any(score.answer_score is not None for row in rows for score in row.scores)
        chosen = protocol_named("exact" if questions else "fusesearch")
        show([Section("", tables=[quality_table(compare_cells(rows, chosen, reference=folder))])])


def _by_benchmark(cells: Sequence[CellResult]) -> list[list[CellResult]]:
    benchmarks = dict.fromkeys(row.cell.benchmark for row in cells)
    return [[row for row in cells if row.cell.benchmark == name] for name in benchmarks]
