"""The funnel: how many rows each stage kept, and examples of what each rule dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dashboards.content.blocks import Block, Details, Heading, Notice, Plot, Printed, Quote, Text, attempt
from dashboards.reading import artifacts
from tasks.core.errors import FusesearchError
from tasks.core.examples import Example
from tasks.data.filtering import RULES
from tasks.pipeline.places import MAIN
from tasks.pipeline.stages import STAGES as TABLE
from tasks.reporting import charts
from tasks.reporting.inputs import split_drops

KINDS = {"pairs and instances": "#0072B2", "trajectories": "#E69F00"}
REASONS = {
    "errored": "the infrastructure failed while the teacher searched",
    "no_answer": "the teacher named no location to modify",
    "low_f1": "F1 is below select.min_f1",
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
STAGES = {
    "filter": (MAIN["filter.drops"], MAIN["filter.examples"], RULES),
    "select": (MAIN["select.drops"], MAIN["select.examples"], REASONS),
}

MOST_ROWS = 2**53
"""A larger count is none: no chart could draw it."""


@dataclass(frozen=True)
class Step:
    """A bar of the funnel: the stage whose figures have it, the key, the heading, and what is counted."""

    stage: str
    key: str
    name: str
    kind: str


STEPS = [Step(stage.name, *count) for stage in TABLE.values() for count in stage.counts]


def funnel_page(root: Path) -> list[Block]:
    """The page."""
    return [
        Text("Rows after each stage, from mining to what is learned from. A trajectory is one search of the teacher."),
        *attempt(lambda: _funnel(root)),
        *_rules(root, "filter", "What filter dropped"),
        Heading("What split dropped"),
        *attempt(lambda: _split(root)),
        *_rules(root, "select", "What select dropped"),
        Heading("What mining tried"),
        Text("Mining keeps counts alone: of what it left out there are no examples."),
        *attempt(lambda: _mined(root)),
    ]


def _funnel(root: Path) -> list[Block]:
    rows, missing = [], []
    for step in STEPS:
        try:
            count = _count(artifacts.counts(root / MAIN[f"{step.stage}.metrics"], step.stage).get(step.key))
        except FusesearchError as error:
            missing.append(str(error))
            continue
        if count is None:
            missing.append(f"{step.stage} reports no {step.key}: run it again")
        else:
            rows.append({"name": step.name, "count": count, "kind": step.kind})
    notices: list[Block] = [Notice(text) for text in dict.fromkeys(missing)]
    if not rows:
        return notices
    said = ", ".join(f"{row['name']} {row['count']:,}" for row in rows)
    return [Plot(charts.bars(rows, "rows", KINDS), "Rows after each stage", f"Funnel: {said}."), *notices]


def _rules(root: Path, stage: str, title: str) -> list[Block]:
    drops_path, examples_path, meanings = STAGES[stage]
    blocks: list[Block] = [Heading(title), *attempt(lambda: _drops(artifacts.counts(root / drops_path, stage), stage, meanings))]
    return blocks + attempt(lambda: _examples(root / examples_path, stage, meanings))


def _split(root: Path) -> list[Block]:
    """Split drops what training must not have seen; it keeps no examples."""
    figures = artifacts.counts(root / MAIN["split.metrics"], "split")
    return _drops(split_drops(figures), "split", CONTAMINATED)


def _drops(told: Mapping[str, Any], stage: str, meanings: Mapping[str, str]) -> list[Block]:
    counts = {rule: count for rule, said in told.items() if (count := _count(said)) is not None}
    odd = ", ".join(rule for rule in told if rule not in counts)
    notices = [Notice(f"{stage} reports no count for {odd}: run `dvc repro {stage}`")] if odd else []
    return [*notices, *_counted(counts, stage, meanings)]


def _count(said: Any) -> int | None:
    """A number of rows as a stage reports it; ``None`` for all that is none."""
    return int(said) if isinstance(said, int | float) and 0 <= said <= MOST_ROWS else None


def _counted(counts: Mapping[str, int], stage: str, meanings: Mapping[str, str]) -> list[Block]:
    if not counts:
        return [Notice(f"{stage} reports no rule: run `dvc repro {stage}`")]
    met = {rule: count for rule, count in counts.items() if count}
    quiet = [rule for rule, count in counts.items() if not count]
    silent = Text(f"Nothing was dropped by: {', '.join(quiet)}.") if quiet else None
    if not met:
        return [Text(f"No rule of {stage} dropped anything; the rules are {', '.join(counts)}.")]
    rows = [{"name": rule, "count": count, "kind": "dropped"} for rule, count in met.items()]
    said = ", ".join(f"{rule} {count:,}" for rule, count in met.items())
    chart = Plot(
        charts.bars(rows, "rows dropped", {"dropped": charts.DROPPED}), f"Rows that {stage} dropped, by rule", f"Dropped: {said}."
    )
    meaning: list[Block] = [Text(f"{rule}: {meanings.get(rule, 'a rule this version does not know')}.") for rule in met]
    return [chart, Details("What the rules mean", meaning), *([silent] if silent else [])]


def _examples(path: Path, stage: str, meanings: Mapping[str, str]) -> list[Block]:
    found = {rule: rows for rule, rows in artifacts.examples(path, stage).items() if rows}
    if not found:
        return []
    return [
        Heading("Examples", 3),
        *(Details(f"{rule}: {meanings.get(rule, '')} ({len(rows)} shown)", _shown(rows)) for rule, rows in found.items()),
    ]


def _shown(rows: list[Example]) -> list[Block]:
    blocks: list[Block] = []
    for row in rows:
        facts = [f"{name} {value}" for name, value in row.facts.items() if value not in (None, "")]
        blocks.append(Text(" · ".join([row.id, *facts])))
        blocks += [Quote(heading, text) for heading, text in row.texts.items() if text]
    return blocks


def _mined(root: Path) -> list[Block]:
    tables = artifacts.mined(root)
    return [Details(table.caption, [Printed(table)]) for table in tables] or [Text("The table of mining is empty.")]
