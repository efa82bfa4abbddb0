"""``RESULTS.md`` of an experiment and the page over all experiments, written from the results alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from fusesearch.evaluation.metrics import METRICS
from fusesearch.reporting.experiment.results import (
    PAGE,
    POOLED,
    Results,
    decided,
    difference_text,
    ordering,
)
from fusesearch.reporting.page import Page, Section
from fusesearch.reporting.table import ABSENT, Row, Table, cell, difference_cell, difference_table, pair_name


def page(results: Results) -> Page:
    """The page of one experiment."""
    sections = [
        Section("Figures by arm", list(_notes(results)), [arms_table(results)]),
        Section("Differences", [DIFFERENCES_NOTE], [differences_table(results)]),
        Section("Orderings of the paper", [BY_CHANCE, *results.paper_notes], [orderings_table(results)]),
    ]
    filled = [part for part in sections if any(table.rows for table in part.tables)]
    opening = Section(
        "Question", [results.question, f"Expected: {results.hypothesis}", f"Came out: {results.summary}", *results.notes]
    )
    claims = [claim.sentence for claim in results.claims]
    footer = [
        ("Command", results.command),
        ("Profile", results.profile or ABSENT),
        ("Seeds", ", ".join(map(str, results.seeds))),
        ("Git revision", results.revision),
        ("dvc.lock", results.dvc_revision),
        ("Scores", results.inputs),
    ]
    return Page(results.title, [opening, *filled], claims, footer)


def overview(every: Sequence[Results]) -> str:
    """The Markdown page over all experiments: what came out, and the verdict on each claim."""
    claims = [(results, claim) for results in every for claim in results.claims]
    rows = [Row([results.title, claim.verdict, claim.sentence, "yes" if claim.paper else ""]) for results, claim in claims]
    came_out = [
        Row([results.title, _link(results), str(len(results.arms)), ", ".join(map(str, results.measured_seeds)), results.summary])
        for results in every
    ]
    profiles = ", ".join(f"`{name}`" for name in dict.fromkeys(results.profile for results in every))
    scale = (
        f"Made with the profile {profiles}: figures are not those of the papers' models, instances and machines. "
        "What can be compared is which arm is ahead."
    )
    sections = [
        Section(
            "Experiments", [scale, _WORDS], [Table("What came out", ["Experiment", "Page", "Arms", "Seeds", "Summary"], came_out)]
        ),
        Section(
            "Claims", [_CLAIMS], [Table("Every claim", ["Experiment", "Verdict", "In numbers", "Stated by the paper"], rows)]
        ),
    ]
    filled = [part for part in sections if any(table.rows for table in part.tables)]
    return Page("Results of the experiments", filled, footer=[("Written by", OVERVIEW_BY)]).render("md")


OVERVIEW_BY = "python -m flows experiment run"
DIFFERENCES_NOTE = (
    "The arm further down minus the one further up, over seeds and instances that both have. A star marks p below 0.05 in the "
    "test over at least three seeds and the instances, after Holm's correction over the pairs of a metric; p is in "
    "`results.json`. Verdicts are corrected over the claims instead, so that the two can differ."
)
BY_CHANCE = (
    "`holds` and `reversed` are decided by the test. The others are not: half of them would point the paper's way if nothing "
    "differed. Orderings of one table depend on each other."
)
_WORDS = (
    "F1 0.7/0.3 is 0.7 of the F1 of files and 0.3 of that of functions. Its mean is over episodes; pooled, as the FuseSearch "
    "tables are, counts are summed first. e is the mean share of new information in a call. Every metric: "
    "[docs/evaluation.md#metrics](../docs/evaluation.md#metrics); intervals, verdicts and power: "
    "[docs/experiments.md](../docs/experiments.md#what-comes-out)."
)
_CLAIMS = (
    "Each experiment corrects over its own claims, not over those of all. What several of them compare on the same runs, such as "
    "SFT + RL with SFT, stands in each with another p for that reason, and over more seeds in some."
)


def arms_table(results: Results) -> Table:
    """Arms with intervals, and under each arm the paper's figures as printed."""
    columns = [METRICS[metric] for metric in results.metrics]
    rows: list[Row] = []
    for arm in results.arms:
        seeds = ", ".join(map(str, arm.seeds)) or "none"
        if arm.missing_seeds:
            seeds += f" (missing: {', '.join(map(str, arm.missing_seeds))})"
        figures = (cell(arm.figures.get(of.key), of) for of in columns)
        rows.append(Row([arm.label, seeds, *figures, f"{arm.episodes} ({arm.errored})"]))
        printed = [arm.figures[of.key].paper if of.key in arm.figures else None for of in columns]
        if any(value is not None for value in printed):
            cells = [ABSENT if value is None else f"{value:g}" for value in printed]
            rows.append(Row([arm.label, "the paper", *cells, ""], kind="paper"))
    beside = f", beside {results.paper_caption}" if results.paper_caption else ""
    header = ["Arm", "Seeds", *(of.heading for of in columns), "Episodes (errored)"]
    return Table(f"{results.title}{beside}", header, rows)


def differences_table(results: Results) -> Table:
    """One row per pair of arms, one column per metric."""
    columns = [METRICS[key] for key in results.metrics]
    return difference_table(
        "Differences of arms", results.differences, columns, results.labels,
        lambda row, of: difference_cell(row, of, star=row is not None and decided(row)),
    )  # fmt: skip


def orderings_table(results: Results) -> Table:
    """Every ordering in the paper's table, with ours."""
    rows = []
    for row in results.differences:
        kind = ordering(row)
        if kind and row.paper is not None:
            of = METRICS[row.metric]
            pair = pair_name(row, results.labels)
            rows.append(Row([pair, of.name, f"{row.paper:+.2f}{of.points}", difference_text(row, of), kind]))
    return Table("Orderings", ["Difference", "Metric", "The paper", "Ours", "Here"], rows)


def _notes(results: Results) -> Iterator[str]:
    yield (
        "Brackets are 95% intervals over instances and seeds, both taken as drawn at random. Pooled figures"
        " sum counts over episodes, as the FuseSearch tables do. Episodes that the infrastructure broke have no score and are "
        "counted as errored. The paper's models, instances and machines are others: what can be compared is which arm is ahead."
    )
    if any(METRICS[metric].timed for metric in results.metrics):
        yield "Seconds are of runs that had the machine to themselves or shared it, so they say little of which arm is ahead."
    if any(arm.figures[POOLED].paper is not None for arm in results.arms if POOLED in arm.figures):
        yield f"The paper's {METRICS[POOLED].name} is computed from its F1 of files and of functions."
    figures = [(figure, METRICS[key]) for arm in results.arms for key, figure in arm.figures.items()]
    if any((figure.low or 0) < 0 or (of.percent and (figure.high or 0) > 1) for figure, of in figures):
        yield "Where an arm's interval passes 0 or 100%, which its figure cannot, the seeds are too few to tell how large it is."
    if results.missing:
        yield f"Missing, and in no figure: {', '.join(results.missing)}. `{results.command}` makes them."
    if results.other_instances:
        yield (
            f"**Measured on other instances than the rest: {', '.join(results.other_instances)}.** Figures over all of them are "
            f"of no one set; `{results.command}` makes those that are outdated again."
        )


def _link(results: Results) -> str:
    missing = f", {len(results.missing)} runs missing" if results.missing else ""
    return Markup(f"[{results.experiment}]({results.experiment}/{PAGE}){missing}")  # noqa: S704 - a folder's checked name
