"""A comparison as sections of a page: Table 1 beside the paper's rows, how systems search, paired tests, and calls by turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fusesearch.evaluation.metrics import Metric
from fusesearch.reporting.comparison import BEHAVIOUR, LEAST_INSTANCES, Comparison, PaperRow, System
from fusesearch.reporting.inputs import calls_by_index
from fusesearch.reporting.page import Figure, Section
from fusesearch.reporting.table import ABSENT, Row, Table, cell, difference_table


def sections_of(comparison: Comparison, figures: bool = True) -> list[Section]:
    """The sections of one benchmark."""
    title = f"{comparison.benchmark}, protocol {comparison.protocol.name}"
    parts = [Section(title, _notes(comparison), [main_table(comparison)])]
    drawn = _profile(comparison) if figures else []
    parts.append(Section(f"{comparison.benchmark}: search, time and cost", [_BEHAVIOUR], [behaviour_table(comparison)], drawn))
    if comparison.tests:
        title = "First minus second, over the instances both have"
        tested = difference_table(title, comparison.tests, comparison.headline, {})
        parts.append(Section(f"{comparison.benchmark}: paired tests", [_TESTS], [tested]))
    elif comparison.too_few and len(comparison.systems) > 1:
        parts.append(Section(f"{comparison.benchmark}: paired tests", [f"No paired tests: {_too_few(comparison)}."]))
    return parts


def main_table(comparison: Comparison) -> Table:
    """Our systems with intervals and errored episodes, then the paper's rows as printed."""
    columns = comparison.quality
    header = ["System", "Model", *(column.heading for column in columns), "Instances", "Episodes", "Errored"]
    rows = _rows(comparison, columns, lambda row: (row.instances, len(row.scores), row.errored))
    rows += [_paper(row, columns) for row in comparison.paper]
    sources = ", ".join(dict.fromkeys(row.source for row in comparison.paper))
    beside = f", beside {sources}" if sources else ""
    return Table(f"{comparison.benchmark} under the protocol {comparison.protocol.name}{beside}; shares in percent", header, rows)


def quality_table(comparison: Comparison) -> Table:
    """Our systems alone, with what the protocol's paper compares them by."""
    columns = [*comparison.headline, *(of for of in comparison.quality if of.key in ("efficiency", "seconds"))]
    header = ["System", "Model", *(of.heading for of in columns), "Instances", "Errored"]
    rows = _rows(comparison, columns, lambda row: (row.instances, row.errored))
    return Table(f"{comparison.benchmark} under the protocol {comparison.protocol.name}", header, rows)


def behaviour_table(comparison: Comparison) -> Table:
    """e under both scopes, redundant and failed calls, time and tokens."""
    header = ["System", "Model", *(of.heading for of in BEHAVIOUR), "Errored"]
    rows = _rows(comparison, BEHAVIOUR, lambda row: (row.errored,))
    return Table("How systems search, and what it costs", header, rows)


def _rows(comparison: Comparison, columns: Sequence[Metric], counts: Callable[[System], Sequence[int]]) -> list[Row]:
    """A row per system: its figures in ``columns``, then its counts."""
    return [
        Row([*_who(row), *(cell(comparison.summary[row.name][of.key], of) for of in columns), *map(str, counts(row))])
        for row in comparison.systems
    ]  # fmt: skip


def _notes(comparison: Comparison) -> list[str]:
    notes = [
        f"{comparison.protocol.source}. Brackets are 95% intervals over instances; the runs of an instance "
        "are averaged first. Errored episodes have no score: they are counted and in no figure."
        + ("" if comparison.protocol.questions else " Of a truth, files and functions of code count.")
    ]
    if comparison.too_few:
        notes.append(f"No intervals where {_too_few(comparison)}.")
    if comparison.paper:
        notes.append("The papers' rows are theirs, on their machines: time is not comparable, the rest as far as the models are.")
    return [*notes, *_excluded(comparison.systems)]


def _too_few(comparison: Comparison) -> str:
    few = comparison.too_few
    return f"{few} instance{' is' if few == 1 else 's are'} too few, {LEAST_INSTANCES} are needed"


def _excluded(systems: Sequence[System]) -> Iterator[str]:
    """Instances that were excluded before anything ran, once per folder."""
    for manifest in {id(row.result.manifest): row.result.manifest for row in systems}.values():
        facts = manifest.benchmarks[systems[0].result.cell.benchmark]
        if facts.excluded:
            name, reason = next(iter(facts.excluded.items()))
            yield f"{len(facts.excluded)} instances of {facts.source} are excluded, such as {name}: {reason}."


_BEHAVIOUR = (
    "Redundant calls have gain 0. Tool success is the share of calls that came back without an error. Waiting is wall time "
    "outside of model and tools: queues, failed requests and the pauses after them, a localizer's own program. Context is "
    "the length of the final conversation, billed the sum over requests."
)
_TESTS = (
    "Paired over instances. A star marks p below 0.05 after Holm's correction over the pairs of a column; p is the corrected one."
)


def _profile(comparison: Comparison) -> list[Figure]:
    from fusesearch.reporting import charts

    rows = [{"name": system.name, **row} for system in comparison.systems for row in _by_turn(system)]
    caption = "Calls of tool-using turns by turn index; points with fewer than 5 episodes left out"
    chart = charts.profile(rows, [system.name for system in comparison.systems], {})
    return charts.figure(f"{comparison.benchmark}_calls_by_turn", caption, chart)


def _by_turn(system: System) -> list[dict[str, float]]:
    return calls_by_index(score.calls_each_turn for score in system.scores if score.error is None)


def _who(system: System) -> list[str]:
    return [system.result.cell.localizer, system.result.cell.model or ABSENT]


def _paper(row: PaperRow, columns: Sequence[Metric]) -> Row:
    figures = [row.figures.get(column.paper or "", "") or ABSENT for column in columns]
    return Row([row.system, row.model, *figures, row.figures.get("instances", "") or ABSENT, ABSENT, ABSENT], kind="paper")
