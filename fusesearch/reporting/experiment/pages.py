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
)
from fusesearch.reporting.page import Figure, Page, Section
from fusesearch.reporting.table import ABSENT, MINUS, Row, Table, cell, difference_cell, difference_table


def page(results: Results, figures: Sequence[Figure] = ()) -> Page:
    """The page of one experiment: chart, tables, then sentences. The first of the ``figures`` is the one to see first."""
    claims = [claim.sentence for claim in results.claims]
    orderings = [ORDERINGS, *results.paper_notes] if results.paper_caption else results.paper_notes
    sections = [
        Section("Question", [results.question], figures=list(figures[:1])),
        Section("Figures by arm", tables=[arms_table(results)], after=list(_notes(results))),
        Section("Differences", tables=[differences_table(results)], figures=list(figures[1:]), after=[DIFFERENCES_NOTE]),
        Section("Claims", [f"Expected: {results.hypothesis}", *claims, results.summary, *orderings, *results.notes]),
    ]
    footer = [
        ("Git revision", results.revision),
        ("Profile", results.profile or ABSENT),
        ("Seeds", ", ".join(map(str, results.seeds))),
        ("Command", results.command),
        ("dvc.lock", results.dvc_revision),
        ("Scores", results.inputs),
    ]
    filled = [part for part in sections if part.text or any(table.rows for table in part.tables)]
    return Page(results.title, filled, results.word, footer)


def overview(every: Sequence[Results]) -> str:
    """The Markdown page over all experiments: what came out of each."""
    profiles = ", ".join(f"`{name}`" for name in dict.fromkeys(results.profile for results in every))
    scale = (
        f"Made with the profile {profiles}: figures are not those of the papers' models, instances and machines. "
        "What can be compared is which arm is ahead."
    )
    rows = [
        Row(
            [
                _link(results),
                results.title,
                *headline(results),
                str(len(results.arms)),
                ", ".join(map(str, results.measured_seeds)),
            ]
        )
        for results in every
    ]
    sections = [Section("Experiments", [], [Table("What came out", OVERVIEW, rows)] if rows else [], after=[scale, _WORDS])]
    return Page("Results of the experiments", sections, footer=[("Written by", OVERVIEW_BY)]).render("md")


def headline(results: Results) -> tuple[str, str]:
    """The word of an experiment, and the difference that it is about: that of its first claim."""
    if not results.claims:
        return results.word, ""
    claim = results.claims[0]
    better, than = results.labels[claim.better], results.labels[claim.than]
    of = METRICS[claim.metric]
    found = ABSENT if claim.estimate is None else difference_text(claim, of)
    return results.word, f"{better} {MINUS} {than} in {of.name}: {found}"


OVERVIEW = ["Page", "Experiment", "Came out", "First claim", "Arms", "Seeds"]
OVERVIEW_BY = "python -m flows experiment run"
DIFFERENCES_NOTE = (
    "The arm further down minus the one further up, over seeds and instances that both have. A star marks p below 0.05 in the "
    "test over at least three seeds and the instances, after Holm's correction over the pairs of a metric; p is in "
    "`results.json`. Verdicts are corrected over the claims instead, so that the two can differ."
)
ORDERINGS = (
    "An ordering of the paper `holds` or is `reversed` if the test decides. The others are undecided: half of them would point "
    "the paper's way if nothing differed. Orderings of one table depend on each other."
)
_WORDS = (
    "The word is the verdict on the first claim of an experiment: it holds, is reversed, or is open because its test does not "
    "decide. Each experiment corrects over its own claims. "
    "F1 0.7/0.3 is 0.7 of the F1 of files and 0.3 of that of functions. Its mean is over episodes; pooled, as the FuseSearch "
    "tables are, counts are summed first. e is the mean share of new information in a call. Every metric: "
    "[docs/evaluation.md#metrics](../docs/evaluation.md#metrics); intervals, verdicts and power: "
    "[docs/experiments.md](../docs/experiments.md#what-comes-out)."
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
