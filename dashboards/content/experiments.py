"""Experiments: what each asked, what came out beside the paper's numbers, and two of them side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dashboards import charts
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
from tasks.core.errors import ArtifactError, FusesearchError
from tasks.core.layout import EXPERIMENTS
from tasks.evaluation.columns import Column, column
from tasks.evaluation.tables import Row, Table
from tasks.experiments.pages import arms_table, differences_table, orderings_table, power_table
from tasks.experiments.results import FIGURES, RESULTS, ArmResult, DifferenceResult, Results, read_results
from tasks.experiments.spec import Experiment, experiment_names, load_experiment

INTRODUCTION = (
    "Each experiment changes params of the main pipeline and trains its arms anew for several seeds; intervals are over "
    "instances and seeds, tests are paired and corrected. The paper's figures are those of its own models and benchmark."
)
MOST_SIDE_BY_SIDE = 2


def names(root: Path) -> list[str]:
    """Experiments that have a file of their own, by name."""
    return experiment_names(root / EXPERIMENTS)


def finished(root: Path) -> dict[str, Results]:
    """Results that are there, by name; what cannot be read is left to its own part of the page."""
    found = {}
    for name in names(root):
        try:
            found[name] = results_of(root, name)
        except FusesearchError:
            continue
    return found


def results_of(root: Path, name: str) -> Results:
    """The results of one experiment. Raises :class:`ArtifactError` where there are none, saying what to run."""
    folder = root / EXPERIMENTS / name
    if not (folder / RESULTS).exists():
        raise ArtifactError(f"experiments/{name}/{RESULTS} is missing: run `fusesearch experiment run {name}`")
    return cached(folder / RESULTS, f"results-{name}", _read)


def experiments_page(root: Path, chosen: Sequence[str], metric: str | None = None) -> list[Block]:
    """All experiments in a table, and those that are chosen, two side by side; ``metric`` is drawn, else each one's primary."""
    known = names(root)
    if not known:
        return [Notice("No experiment is there: `experiments/*/experiment.yaml` is missing")]
    overview = Printed(Table("All experiments", ["Experiment", "Question", "Arms", "Seeds", "Came out"], _overview(root, known)))
    parts = [attempt(lambda name=name: _experiment(root, name, metric)) for name in chosen]  # type: ignore[misc]
    return [Text(INTRODUCTION), overview, *([Columns(parts)] if len(parts) > 1 else [block for part in parts for block in part])]


def metrics_of(root: Path, chosen: Sequence[str]) -> list[str]:
    """Metrics that all chosen experiments measured, in the order of the first."""
    every = finished(root)
    shared = [set(every[name].metrics) for name in chosen if name in every]
    first = next((every[name].metrics for name in chosen if name in every), [])
    return [metric for metric in first if all(metric in found for found in shared)]


def _read(path: Path) -> Results:
    return read_results(path.parent)


def _overview(root: Path, known: Sequence[str]) -> list[Row]:
    rows = []
    for name in known:
        try:
            experiment = load_experiment(name, root / EXPERIMENTS)
            seeds = ", ".join(map(str, experiment.seeds))
            rows.append(Row([name, experiment.question, str(len(experiment.arms)), seeds, _came_out(root, name)]))
        except FusesearchError as error:
            rows.append(Row([name, str(error), "", "", ""]))
    return rows


def _came_out(root: Path, name: str) -> str:
    try:
        return results_of(root, name).summary
    except FusesearchError as error:
        return str(error)


def _experiment(root: Path, name: str, metric: str | None) -> list[Block]:
    experiment = load_experiment(name, root / EXPERIMENTS)
    opening: list[Block] = [Heading(experiment.title), Text(experiment.question), Text(f"Expected: {experiment.hypothesis}")]
    return opening + attempt(lambda: _results(root, results_of(root, name), experiment, metric))


def _results(root: Path, results: Results, experiment: Experiment, metric: str | None) -> list[Block]:
    drawn = column(metric if metric in results.metrics else results.primary)
    return [
        _size(results),
        Text(f"Came out: {results.summary}"),
        *(Notice(f"{text}: run `fusesearch experiment run {results.experiment}`") for text in results.missing),
        *_claims(results),
        *_estimates(results, drawn),
        *_differences(results, drawn),
        Printed(arms_table(results)),
        *_by_turn(results),
        Details("All differences", [Printed(differences_table(results))]),
        Details("Orderings of the paper", [Printed(orderings_table(results))]),
        Details("Power: what a true difference would have to be", [Printed(power_table(results))]),
        *_pictures(root / EXPERIMENTS / results.experiment / FIGURES),
        Details("Where it comes from", [Text(text) for text in _provenance(results)]),
    ]


def _size(results: Results) -> Tiles:
    seeds = sorted({seed for arm in results.arms for seed in arm.seeds})
    errored = sum(arm.errored for arm in results.arms)
    return Tiles(
        [
            Tile("Arms", str(len(results.arms))),
            Tile("Seeds", str(len(seeds)), ", ".join(map(str, seeds))),
            Tile("Instances", f"{max((arm.instances for arm in results.arms), default=0):,}"),
            Tile("Episodes", f"{sum(arm.episodes for arm in results.arms):,}", f"{errored} errored"),
        ]
    )


def _claims(results: Results) -> list[Block]:
    rows = [Row([claim.verdict, claim.sentence, "yes" if claim.paper else ""]) for claim in results.claims]
    return [Printed(Table("Claims", ["Verdict", "In numbers", "The paper's"], rows))] if rows else []


def _estimates(results: Results, of: Column) -> list[Block]:
    rows = [row for arm in results.arms for row in _marks(arm, of)]
    if not rows:
        return [Notice(f"No arm has {of.heading} yet.", "note")]
    ours = [f"{row['arm']} {row['value']:.2f}" for row in rows if row["who"] == "ours"]
    beside = f"; the other marks: {results.paper_caption}" if any(row["who"] != "ours" for row in rows) else ""
    return [
        Plot(charts.estimates(rows, of.heading), f"{of.heading} by arm{beside}", f"{of.heading} by arm: {', '.join(ours)}."),
    ]


def _marks(arm: ArmResult, of: Column) -> list[dict[str, Any]]:
    figure = arm.figures.get(of.key)
    if figure is None:
        return []
    rows = [{"arm": arm.label, "who": "ours", **_whisker(figure.estimate, figure.low, figure.high, of)}]
    if figure.paper is not None:
        rows.append({"arm": arm.label, "who": "paper", "value": figure.paper, "low": None, "high": None})
    return rows


def _differences(results: Results, of: Column) -> list[Block]:
    chosen = [row for row in results.differences if row.metric == of.key]
    if not chosen:
        return []
    labels = {arm.name: arm.label for arm in results.arms}
    rows = [_difference(row, labels, of) for row in chosen]
    clear = [str(row["pair"]) for row in rows if row["verdict"] == "interval without zero"]
    alt = f"Differences in {of.heading}; intervals without zero: {', '.join(clear) or 'none'}."
    return [Plot(charts.differences(rows, f"Difference in {of.heading}"), "Paired differences: first minus second", alt)]


def _difference(row: DifferenceResult, labels: dict[str, str], of: Column) -> dict[str, Any]:
    return {
        "pair": f"{labels.get(row.first, row.first)} − {labels.get(row.second, row.second)}",  # noqa: RUF001
        "verdict": "interval without zero" if row.clear else "interval holds zero",
        **_whisker(row.estimate, row.low, row.high, of),
    }


def _whisker(estimate: float, low: float | None, high: float | None, of: Column) -> dict[str, float | None]:
    bounds = (None if bound is None else of.shown(bound) for bound in (low, high))
    return {"value": of.shown(estimate), **dict(zip(("low", "high"), bounds, strict=True))}


def _by_turn(results: Results) -> list[Block]:
    arms = [arm for arm in results.arms if arm.calls_by_turn]
    rows = [
        {"name": arm.label, "turn": row.turn, "calls": row.calls, "episodes": row.episodes}
        for arm in arms
        for row in arm.calls_by_turn
    ]
    if not rows:
        return []
    first = [f"{arm.label} {arm.calls_by_turn[0].calls:.1f}" for arm in arms]
    chart = charts.profile(rows, [arm.name for arm in arms], {arm.name: arm.label for arm in arms})
    return [Plot(chart, "Mean calls at each turn", f"Mean calls by turn; in the first: {', '.join(first)}.")]


def _pictures(folder: Path) -> list[Block]:
    """The figures that were written with the results."""
    pictures = [Picture(path.read_text(encoding="utf-8"), path.stem) for path in sorted(folder.glob("*.svg"))]
    return [Details("Figures as written with the results", pictures)] if pictures else []


def _provenance(results: Results) -> list[str]:
    profile = f"profile {results.profile}" if results.profile else ""
    parts = [profile, f"git {results.revision}", f"dvc {results.dvc_revision}", f"inputs {results.inputs}"]
    return [f"Made by `{results.command}`.", ", ".join(part for part in parts if part) + "."]
