"""``fusesearch compare``: tables of what ``evaluate`` ran, beside the papers'."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fusesearch.cli.output import save_text
from fusesearch.core.text import safe_name

if TYPE_CHECKING:
    from fusesearch.core.schema import Score
    from fusesearch.evaluation.results import CellResult, Results
    from fusesearch.reporting.comparison import Comparison
    from fusesearch.reporting.page import Page, Section


class Format(StrEnum):
    """Format of the tables."""

    terminal = "terminal"
    markdown = "markdown"
    html = "html"


def compare(
    folders: Annotated[list[Path], typer.Argument(help="Folders that `evaluate` wrote.", metavar="DIR...")],
    protocol: Annotated[
        str,
        typer.Option(
            help="How to score: fusesearch, single_file, codescout, tooltrain, locagent or exact; "
            "coreqa or swe-qa after `fusesearch judge`.",
            metavar="NAME",
        ),
    ] = "fusesearch",
    format_: Annotated[Format, typer.Option("--format", help="Format of the tables.")] = Format.terminal,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write to; with html a folder, by default DIR/compare-PROTOCOL.", metavar="PATH"),
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="Test every system against this one only, such as `lexical`.", metavar="SYSTEM")
    ] = None,
    prices: Annotated[
        Path | None,
        typer.Option(help="YAML that maps model names to `prompt` and `completion` prices per million tokens.", metavar="FILE"),
    ] = None,
    episodes: Annotated[bool, typer.Option(help="With html, write a page for every episode.")] = True,
    reference: Annotated[Path, typer.Option(help="Folder of the papers' tables.", metavar="DIR")] = Path("experiments/reference"),
) -> None:
    """Compare evaluated systems under one protocol.

    Prints for each benchmark: the systems with intervals and errored episodes, how they search and what that costs, and
    paired tests with Holm's correction. Adds the paper's rows if the paper has some for this protocol and the benchmark's
    name contains `verified` or `locbench`. With html, also plots quality against tokens and time, and links every row
    to its episodes.

    ```
    fusesearch compare results --protocol tooltrain
    fusesearch compare results more --format html --out pages
    ```
    """
    from fusesearch.evaluation.grid import load_prices
    from fusesearch.evaluation.judged import judged
    from fusesearch.evaluation.judges import RUBRICS
    from fusesearch.evaluation.protocols import protocol_named
    from fusesearch.evaluation.results import read_results
    from fusesearch.reporting.comparison import compare_cells

    rubric, known = RUBRICS.get(protocol), load_prices(prices) if prices else {}
    results = read_results(folders)
    cells, chosen = judged(results.cells, rubric) if rubric else (results.cells, protocol_named(protocol))
    comparisons = [
        compare_cells(rows, chosen, prices=known, reference=reference, against=against) for rows in _by_benchmark(cells)
    ]
    if format_ is Format.html:
        typer.echo(_write_html(comparisons, results, out or folders[0] / f"compare-{protocol}", episodes))
        return
    _write_text(comparisons, results, format_, out)


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
        show([Section("", tables=[quality_table(compare_cells(rows, chosen, prices={}, reference=folder))])])


def _by_benchmark(cells: Sequence[CellResult]) -> list[list[CellResult]]:
    benchmarks = dict.fromkeys(row.cell.benchmark for row in cells)
    return [[row for row in cells if row.cell.benchmark == name] for name in benchmarks]


def _write_text(comparisons: Sequence[Comparison], results: Results, format_: Format, out: Path | None) -> None:
    from fusesearch.reporting.comparison_pages import sections_of
    from fusesearch.reporting.page import show

    sections = [section for comparison in comparisons for section in sections_of(comparison, figures=False)]
    if format_ is Format.terminal and out is None:
        show(sections)
        for line in _unfinished(results):
            typer.echo(line)
        return
    text = _page(sections, results).render("md")
    if out is None:
        typer.echo(text)
    else:
        save_text(out, text)
        typer.echo(out)


def _write_html(comparisons: Sequence[Comparison], results: Results, out: Path, episodes: bool) -> Path:
    """Write the page of tables, a page per cell and a page per episode; returns the first."""
    from fusesearch.reporting.comparison_pages import sections_of

    for comparison in comparisons:
        for system in comparison.systems:
            _write_cell(system.result, system.scores, out, episodes)
    pages = [sections_of(comparison, lambda row: f"cells/{row.cell.name}.html") for comparison in comparisons]
    sections = [section for page in pages for section in page]
    page = _page(sections, results)
    page.write_figures(out)
    save_text(out / "index.html", page.render("html"))
    return out / "index.html"


def _write_cell(result: CellResult, scores: Sequence[Score], out: Path, episodes: bool) -> None:
    from fusesearch.reporting.comparison_pages import episodes_table
    from fusesearch.reporting.page import Page, Section

    name = result.cell.name
    paths = _write_episodes(result, scores, out / "episodes" / name) if episodes else {}
    links = {key: f"../episodes/{name}/{path.name}" for key, path in paths.items()}
    text = [f"Scores: {result.folder / 'scores.jsonl'}. Trajectories: {result.folder / 'trajectories.jsonl'}."]
    table = episodes_table(result, scores, lambda score: links.get((score.instance_id, score.run), ""))
    page = Page(name, [Section("Episodes", text, [table])], footer=_footer([result]))
    save_text(out / "cells" / f"{name}.html", page.render("html"))


def _write_episodes(result: CellResult, scores: Sequence[Score], folder: Path) -> dict[tuple[str, int], Path]:
    """Write the page of ``fusesearch view`` for every episode that the protocol counts."""
    from fusesearch.core.schema import Trajectory, Truth
    from fusesearch.core.storage import read_jsonl
    from fusesearch.core.text import flat_name
    from fusesearch.reporting.episodes.page import page_of
    from fusesearch.reporting.episodes.rendering import render

    wanted = {(score.instance_id, score.run): score for score in scores}
    pages: dict[tuple[str, int], Path] = {}
    for score, trajectory in zip(result.scores, read_jsonl(result.folder / "trajectories.jsonl", Trajectory), strict=True):
        key = (score.instance_id, score.run)
        if key in wanted:
            truth = (
                Truth(files=wanted[key].true_files, functions=wanted[key].true_functions, unread=wanted[key].unread)
                if score.true_files
                else None
            )
            name = safe_name(flat_name(score.instance_id)).lstrip(".")[:150] or "episode"
            pages[key] = folder / f"{name}.{score.run + 1}.html"
            save_text(pages[key], render(page_of(trajectory, truth)))
    return pages


def _page(sections: Sequence[Section], results: Results) -> Page:
    from fusesearch.reporting.page import Page

    return Page("Localizers compared", sections, _unfinished(results), _footer(results.cells))


def _unfinished(results: Results) -> list[str]:
    return [
        f"Left out, because it is not finished: {name}. Run `fusesearch evaluate` again to resume." for name in results.unfinished
    ]


def _footer(cells: Sequence[CellResult]) -> list[tuple[str, str]]:
    revisions = dict.fromkeys(row.manifest.revision[:12] for row in cells)
    folders = dict.fromkeys(str(row.folder.parent.parent) for row in cells)
    return [("Results", ", ".join(folders)), ("Git revision", ", ".join(revisions))]
