"""What ``fusesearch experiment table`` prints: on a terminal as much as fits there, elsewhere the pages as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from tasks.core.storage import read_text
from tasks.pipeline.experiments.spec import Experiment
from tasks.reporting.experiment.pages import arms_table
from tasks.reporting.experiment.results import PAGE, RESULTS, Results, read_results
from tasks.reporting.table import Row

OPENING = {"confirmed": "green", "refuted": "red", "undecided": "yellow", "not measured": "dim"}


def with_results(experiments: Sequence[Experiment]) -> list[Experiment]:
    """Those that have results."""
    return [experiment for experiment in experiments if (experiment.folder / RESULTS).exists()]


def pages(experiments: Sequence[Experiment]) -> str:
    """The pages of experiments. Raises :class:`ArtifactError` for one that has no results."""
    for experiment in experiments:
        read_results(experiment.folder)
    return "\n".join(read_text(experiment.folder / PAGE) for experiment in experiments)


def shown(experiment: Experiment) -> Iterator[RenderableType]:
    """Verdicts, and the arms side by side with a row per metric. Raises :class:`ArtifactError` where there are no results."""
    results = read_results(experiment.folder)
    yield f"[bold]{escape(results.title)}[/]"
    for claim in results.claims:
        opening, _, rest = claim.sentence.partition(":")
        yield Padding(f"[{OPENING[claim.verdict]}]{escape(opening)}[/]:{escape(rest)}", (0, 0, 0, 2))
    yield _arms(results)
    yield f"Differences, orderings, power and pictures: {experiment.folder / PAGE}\n"


def _arms(results: Results) -> Table:
    """The paper's figures stand below ours."""
    made = arms_table(results)
    arms: list[tuple[Row, Row | None]] = []
    for row in made.rows:
        if row.kind == "paper":
            arms[-1] = arms[-1][0], row
        else:
            arms.append((row, None))
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("", min_width=12)
    for ours, _ in arms:
        table.add_column(escape(ours.cells[0]))
    for place, heading in enumerate(made.header[1:], start=1):
        table.add_row(escape(heading), *(_cell(ours, paper, place) for ours, paper in arms))
    if results.paper_caption:
        table.caption = f"in brackets 95% intervals, below them {escape(results.paper_caption)}"
    return table


def _cell(ours: Row, paper: Row | None, place: int) -> str:
    beside = paper.cells[place] if paper and place > 1 else ""
    return escape(ours.cells[place]) + (f"\n[dim]{escape(beside)}[/]" if any(map(str.isdigit, beside)) else "")
