"""The funnel: how many rows each stage kept, and examples of what each rule dropped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dashboards import read
from dashboards.parts import Fold, Heading, Notice, Part, Plot, Quote, attempt
from fusesearch.core.errors import FusesearchError
from fusesearch.core.examples import Example
from fusesearch.data.filtering import RULES
from fusesearch.reporting import charts
from fusesearch.reporting.inputs import split_drops
from tasks.stages import STAGES

TAB = TITLE = "Funnel"
KINDS = {"pairs and instances": charts.BLUE, "trajectories": charts.COLOURS[1]}
REASONS = {
    "errored": "the infrastructure failed while the teacher searched",
    "no_answer": "the teacher named no location to modify",
    "low_f1": "F1 is below select.min_f1",
    "unreadable": "its text does not read as its calls and answer",
    "low_efficiency": "e is below select.min_efficiency",
    "duplicate": "an earlier candidate of the instance says the same, word for word",
    "over_limit": "select.max_trajectories were kept already: one of every instance first, repositories taking turns",
}
CONTAMINATED = {
    "benchmark_repository": "the repository is a benchmark's, or a copy of one",
    "same_issue": "a benchmark or the held-out split has the same issue, but for case, punctuation and spacing",
    "same_patch": "a benchmark or the held-out split has the same patch",
    "similar_issue": "a benchmark has an issue as similar as split.near_duplicate",
    "similar_patch": "a benchmark has a patch as similar as split.near_duplicate",
}
MOST_ROWS = 2**53
"""A larger count cannot be drawn and is treated as damaged."""


def screen(root: Path) -> Iterator[Part]:
    """The page; there is nothing to choose."""
    return page(root)


def page(root: Path) -> Iterator[Part]:
    """The page."""
    yield "Rows after each stage, from mining to what is learned from. A trajectory is one search of the teacher."
    yield from _funnel(root)
    for stage, meanings in (("filter", RULES), ("split", CONTAMINATED), ("select", REASONS)):
        yield Heading(f"What {stage} dropped")
        yield from attempt(_drops(root, stage, meanings))
        if stage != "split":  # it drops what training must not have seen, and keeps no examples
            yield from attempt(_examples(root, stage, meanings))
    yield Heading("What mining tried")
    yield "Mining keeps counts only, no examples of what it left out."
    yield from attempt(_mined(root))


def _funnel(root: Path) -> Iterator[Part]:
    rows = []
    for stage in STAGES.values():
        for figure, heading, unit in stage.counts:
            try:
                count = _count(read.metrics(root, stage.name).get(figure))
            except FusesearchError as error:
                yield Notice(str(error))
                continue
            if count is None:
                yield Notice(f"{stage.name} reports no {figure}: run `dvc repro {stage.name}`")
            else:
                rows.append({"name": heading, "count": count, "kind": unit})
    if rows:
        said = ", ".join(f"{row['name']} {row['count']:,}" for row in rows)
        yield Plot(charts.bars(rows, "rows", KINDS), "Rows after each stage", f"Funnel: {said}.")


def _count(found: Any) -> int | None:
    """A number of rows as a stage reports it; ``None`` for anything else."""
    return int(found) if isinstance(found, int | float) and 0 <= found <= MOST_ROWS else None


def _drops(root: Path, stage: str, meanings: Mapping[str, str]) -> Iterator[Part]:
    reported = split_drops(read.metrics(root, stage)) if stage == "split" else read.drops(root, stage)
    counts = {rule: count for rule, found in reported.items() if (count := _count(found)) is not None}
    if odd := [rule for rule in reported if rule not in counts]:
        yield Notice(f"{stage} reports no count for {', '.join(odd)}: run `dvc repro {stage}`")
    if not counts:
        yield Notice(f"{stage} reports no rule: run `dvc repro {stage}`")
        return
    met = {rule: count for rule, count in counts.items() if count}
    if met:
        rows = [{"name": rule, "count": count, "kind": "dropped"} for rule, count in met.items()]
        alt = f"Dropped: {', '.join(f'{rule} {count:,}' for rule, count in met.items())}."
        yield Plot(charts.bars(rows, "rows dropped", {"dropped": charts.DROPPED}), f"Rows that {stage} dropped, by rule", alt)
        yield Fold("What the rules mean", [f"{rule}: {meanings.get(rule, 'unknown to this version')}." for rule in met])
    if quiet := [rule for rule in counts if rule not in met]:
        yield f"Nothing was dropped by: {', '.join(quiet)}."


def _examples(root: Path, stage: str, meanings: Mapping[str, str]) -> Iterator[Part]:
    found = {rule: rows for rule, rows in read.examples(root, stage).items() if rows}
    if found:
        yield Heading("Examples", 3)
    for rule, rows in found.items():
        yield Fold(f"{rule}: {meanings.get(rule, '')} ({len(rows)} shown)", [part for row in rows for part in _example(row)])


def _example(row: Example) -> Iterator[Part]:
    yield " · ".join([row.id, *(f"{name} {value}" for name, value in row.facts.items() if value not in (None, ""))])
    yield from (Quote(heading, text) for heading, text in row.texts.items() if text)


def _mined(root: Path) -> Iterator[Part]:
    tables = read.mined(root)
    yield from (Fold(table.caption, [table]) for table in tables)
    if not tables:
        yield "The table of mining is empty."
