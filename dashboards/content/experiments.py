"""Experiments: what each asked, what came out beside the paper's numbers, and two of them side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dashboards.content.blocks import (
    Block,
    Columns,
    Details,
    Heading,
    Notice,
    Picture,
    Plot,
    Printed,
    Text,
    Tile,
    Tiles,
    attempt,
)
from dashboards.reading.artifacts import cached
from dashboards.reading.experiments import finished, names, results_of
from tasks.core.errors import FusesearchError
from tasks.core.storage import read_csv
from tasks.evaluation.metrics import METRICS, Metric, metric_named
from tasks.evaluation.statistics import Difference
from tasks.pipeline.experiments.spec import Experiment, load_experiment
from tasks.pipeline.places import EXPERIMENTS, experiment_files
from tasks.reporting import charts
from tasks.reporting.experiment.figures import draw, marks
from tasks.reporting.experiment.pages import (
    BY_CHANCE,
    DIFFERENCES_NOTE,
    POWER_NOTE,
    arms_table,
    differences_table,
    orderings_table,
    power_table,
)
from tasks.reporting.experiment.results import Results, decided
from tasks.reporting.table import Row, Table, pair_name

INTRODUCTION = (
    "Each experiment changes params of the main pipeline and trains its arms anew for several seeds; intervals are over "
    "instances and seeds, tests are paired and corrected. The paper's figures are those of its own models and benchmark."
)
MOST_SIDE_BY_SIDE = 2


def experiments_page(root: Path, chosen: Sequence[str], metric: str | None = None) -> list[Block]:
    """All experiments in a table, and those that are chosen, two side by side; ``metric`` is drawn, else each one's primary."""
    known = names(root)
    if not known:
        return [Notice("No experiment is there: `experiments/*/experiment.yaml` is missing")]
    overview = Printed(Table("All experiments", ["Experiment", "Question", "Arms", "Seeds", "Came out"], _overview(root, known)))
    parts = [attempt(lambda name=name: experiment_part(root, name, metric)) for name in chosen]  # type: ignore[misc]
    return [Text(INTRODUCTION), overview, *([Columns(parts)] if len(parts) > 1 else [block for part in parts for block in part])]


def metrics_of(root: Path, chosen: Sequence[str]) -> list[str]:
    """Metrics that all chosen experiments measured, in the order of the first."""
    every = finished(root)
    shared = [set(every[name].metrics) for name in chosen if name in every]
    first = next((every[name].metrics for name in chosen if name in every), [])
    return [metric for metric in first if metric in METRICS and all(metric in found for found in shared)]


def _overview(root: Path, known: Sequence[str]) -> list[Row]:
    rows = []
    for name in known:
        try:
            experiment = load_experiment(name, root / EXPERIMENTS)
        except FusesearchError as error:
            rows.append(Row([name, str(error), "", "", ""]))
            continue
        try:
            results = results_of(root, name)
            arms, seeds, came_out = len(results.arms), results.measured_seeds, results.summary
        except FusesearchError as error:
            arms, seeds, came_out = len(experiment.arms), experiment.seeds, str(error)
        rows.append(Row([name, experiment.question, str(arms), ", ".join(map(str, seeds)), came_out]))
    return rows


def experiment_part(root: Path, name: str, metric: str | None = None) -> list[Block]:
    """What one experiment asked, and what came out. Raises :class:`ConfigError` where its file is none."""
    experiment = load_experiment(name, root / EXPERIMENTS)
    opening: list[Block] = [Heading(experiment.title), Text(experiment.question), Text(f"Expected: {experiment.hypothesis}")]
    return opening + attempt(lambda: _results(root, results_of(root, name), experiment, metric))


def _results(root: Path, results: Results, experiment: Experiment, metric: str | None) -> list[Block]:
    drawn = metric_named(metric if metric in results.metrics else results.primary)
    return [
        _size(results),
        Text(f"Came out: {results.summary}"),
        *map(Text, results.notes),
        *(Notice(f"{text}: run `fusesearch experiment run {results.experiment}`") for text in results.missing),
        *_strangers(results),
        *_claims(results),
        *_estimates(results, drawn),
        *_differences(results, drawn),
        Printed(arms_table(results)),
        *_by_turn(results),
        Details("All differences", [Text(DIFFERENCES_NOTE), Printed(differences_table(results))]),
        Details("Orderings of the paper", [Text(BY_CHANCE), *map(Text, results.paper_notes), Printed(orderings_table(results))]),
        Details("Power: what a true difference would have to be", [Text(POWER_NOTE), Printed(power_table(results))]),
        *attempt(lambda: _pictures(root, results, experiment)),
        Details("Where it comes from", [Text(text) for text in _provenance(results)]),
    ]


def _strangers(results: Results) -> list[Block]:
    if not results.other_instances:
        return []
    return [
        Notice(
            f"Measured on other instances than the rest: {', '.join(results.other_instances)}. Figures over all of them are of "
            f"no one set; `{results.command}` makes those that are outdated again.",
            "note",
        )
    ]


def _size(results: Results) -> Tiles:
    errored = sum(arm.errored for arm in results.arms)
    return Tiles(
        [
            Tile("Arms", str(len(results.arms))),
            Tile("Seeds", str(len(results.measured_seeds)), ", ".join(map(str, results.measured_seeds))),
            Tile("Instances", f"{max((arm.instances for arm in results.arms), default=0):,}"),
            Tile("Episodes", f"{sum(arm.episodes for arm in results.arms):,}", f"{errored} errored"),
        ]
    )


def _claims(results: Results) -> list[Block]:
    rows = [Row([claim.verdict, claim.sentence, "yes" if claim.paper else ""]) for claim in results.claims]
    return [Printed(Table("Claims", ["Verdict", "In numbers", "The paper's"], rows))] if rows else []


def _estimates(results: Results, of: Metric) -> list[Block]:
    rows = [row for arm in results.arms for row in marks(arm, of)]
    if not rows:
        return [Notice(f"No arm has {of.heading} yet.", "note")]
    ours = [f"{row['arm']} {row['value']:.2f}" for row in rows if row["who"] == "ours"]
    beside = f"; the other marks: {results.paper_caption}" if any(row["who"] != "ours" for row in rows) else ""
    return [
        Plot(charts.estimates(rows, of.heading), f"{of.heading} by arm{beside}", f"{of.heading} by arm: {', '.join(ours)}."),
    ]


def _differences(results: Results, of: Metric) -> list[Block]:
    chosen = [row for row in results.differences if row.metric == of.key]
    if not chosen:
        return []
    rows = [_difference(row, results.labels, of) for row in chosen]
    clear = [str(row["pair"]) for row in rows if row["verdict"] == charts.DECIDED]
    alt = f"Differences in {of.heading}; decided after Holm's correction: {', '.join(clear) or 'none'}."
    return [Plot(charts.differences(rows, f"Difference in {of.of_differences}"), "Paired differences: first minus second", alt)]


def _difference(row: Difference, labels: dict[str, str], of: Metric) -> dict[str, Any]:
    verdict = charts.DECIDED if decided(row) else charts.UNDECIDED
    return {"pair": pair_name(row, labels), "verdict": verdict, **charts.whisker(row, of)}


def _by_turn(results: Results) -> list[Block]:
    rows = [{"name": arm.label, **row.model_dump()} for arm in results.arms for row in arm.calls_by_turn]
    chart = charts.profile(rows, [arm.name for arm in results.arms], results.labels)
    if chart is None:
        return []
    first = [f"{arm.label} {arm.calls_by_turn[0].calls:.1f}" for arm in results.arms if arm.calls_by_turn]
    caption = f"Mean calls at each turn; points with fewer than {charts.LEAST_EPISODES} episodes are left out"
    return [Plot(chart, caption, f"Mean calls by turn; in the first: {', '.join(first)}.")]


def _pictures(root: Path, results: Results, experiment: Experiment) -> list[Block]:
    """The figures the experiment asks for; those of its training need the curves of a run on this machine."""
    path = root / experiment_files(results.experiment) / "curves.csv"
    curves = cached(path, f"results-{results.experiment}", _curves) if path.exists() else []
    pictures = [Picture(figure.svg, figure.caption) for figure in draw(experiment.figures, results, curves)]
    return [Details("Figures", list(pictures))]


def _curves(path: Path) -> list[dict[str, Any]]:
    words = ("arm", "stage")
    return [{key: text if key in words else float(text) for key, text in row.items() if text} for row in read_csv(path)]


def _provenance(results: Results) -> list[str]:
    profile = f"profile {results.profile}" if results.profile else ""
    parts = [profile, f"git {results.revision}", f"dvc {results.dvc_revision}", f"inputs {results.inputs}"]
    return [f"Made by `{results.command}`.", ", ".join(part for part in parts if part) + "."]
