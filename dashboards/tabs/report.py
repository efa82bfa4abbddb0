"""The report, drawn from the artifacts as they are now; below it what each stage kept, and examples of what was dropped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dashboards import read
from dashboards.parts import Fold, Heading, Notice, Part, Quote, attempt, drawn
from fusesearch.core.errors import FusesearchError
from fusesearch.core.examples import Example
from fusesearch.reporting.table import Row, Table
from tasks.stages import STAGES

TAB = TITLE = "Report"


def screen(root: Path) -> Iterator[Part]:
    """The page; there is nothing to choose."""
    yield from attempt(_report(root))
    yield Heading("Rows after each stage")
    yield from _counts(root)
    for stage in ("filter", "select"):
        yield Heading(f"Examples of what {stage} dropped")
        yield from attempt(_examples(root, stage))


def _report(root: Path) -> Iterator[Part]:
    yield from drawn(read.report(root))


def _counts(root: Path) -> Iterator[Part]:
    rows = []
    for stage in STAGES.values():
        for figure, heading, unit in stage.counts:
            try:
                rows.append(Row([heading, unit, f"{read.metrics(root, stage.name).get(figure, 'not reported')}"]))
            except FusesearchError as error:
                yield Notice(str(error))
    if rows:
        yield Table("From mining to training; a trajectory is one search of the teacher", ["Stage", "Of", "Rows"], rows)


def _examples(root: Path, stage: str) -> Iterator[Part]:
    for rule, rows in read.examples(root, stage).items():
        if rows:
            yield Fold(f"{rule} ({len(rows)} shown)", [part for row in rows for part in _example(row)])


def _example(row: Example) -> Iterator[Part]:
    yield " · ".join([row.id, *(f"{name} {value}" for name, value in row.facts.items() if value not in (None, ""))])
    yield from (Quote(heading, text) for heading, text in row.texts.items() if text)
