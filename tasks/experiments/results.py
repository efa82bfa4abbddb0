"""From the runs of an experiment to its results: figures of arms, differences, claims, and the files that show them.

``RESULTS.md`` is the page for people, ``results.json`` a :class:`Results`: everything on it, from which its figures are drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from fusesearch.core.config import load_params
from fusesearch.core.errors import ArtifactError
from fusesearch.core.storage import write_json, write_text
from fusesearch.evaluation.metrics import metric_named
from fusesearch.evaluation.statistics import Difference, Measured, Seeds, compare, measure
from fusesearch.reporting.experiment.pages import overview, page
from fusesearch.reporting.experiment.results import (
    PAGE,
    RESULTS,
    ArmResult,
    Figure,
    Results,
    TurnCalls,
    check_figures,
    read_results,
)
from fusesearch.reporting.inputs import calls_by_index
from tasks.experiments.outcome import ArmRun, scores_digest
from tasks.experiments.paper import Paper, is_ordered, paper_figures
from tasks.experiments.spec import Experiment, experiment_names
from tasks.experiments.verdicts import judge, summarize
from tasks.running.places import EXPERIMENTS
from tasks.running.record import revision

DIGITS = 6
PARAMS = Path("params.yaml")
Scores = dict[str, Seeds]
"""By arm and seed."""


def write_results(experiment: Experiment, runs: Sequence[ArmRun], folder: Path | None = None, root: Path = Path()) -> Results:
    """Measure the given runs, and write the results to ``folder`` (default: beside the experiment's YAML).

    The results name missing runs. ``root`` is the project's. Raises :class:`ArtifactError` without any run,
    :class:`ConfigError` for an unknown metric, figure or row of the paper's table.
    """
    out = folder or root / experiment.folder
    check_figures(experiment.figures)
    ordered = sorted(runs, key=lambda run: (run.arm, run.seed))
    results = measured(experiment, ordered, root)
    write_text(out / PAGE, page(results).render("md"))
    write_json(out / RESULTS, results.model_dump(mode="json"))
    return results


def write_overview(root: Path = EXPERIMENTS) -> Path:
    """Write ``RESULTS.md`` over all experiments that have results. Returns its path."""
    every = [root / name for name in experiment_names(root) if (root / name / RESULTS).exists()]
    write_text(root / PAGE, overview([read_results(folder) for folder in every]))
    return root / PAGE


def measured(experiment: Experiment, runs: Sequence[ArmRun], root: Path = Path()) -> Results:
    """The results of an experiment's runs. Raises :class:`ArtifactError` without any run."""
    scores: Scores = {arm: {run.seed: run.scores for run in runs if run.arm == arm} for arm in experiment.arms}
    if not any(scores.values()):
        raise ArtifactError(f"{experiment.name}: no run is finished: run `python -m flows experiment run {experiment.name}`")
    paper = paper_figures(experiment, root)
    arms = [_arm(experiment, arm, scores[arm], paper, runs) for arm in experiment.arms]
    differences = _differences(experiment, scores, paper)
    claims = judge(experiment, differences)
    known = revision()
    return Results(
        experiment=experiment.name,
        **experiment.model_dump(include={"title", "question", "hypothesis", "notes", "seeds", "metrics", "primary"}),
        summary=summarize(claims, differences),
        command=f"python -m flows experiment run {experiment.name}",
        inputs=scores_digest(runs),
        revision=known["git_revision"][:12] + ("+changes" if known["dirty"] else ""),
        dvc_revision=known["dvc_revision"][:12],
        profile=load_params(root / PARAMS).profile if (root / PARAMS).exists() else "",
        paper_caption=experiment.paper.caption or experiment.paper.table if experiment.paper else "",
        paper_notes=experiment.paper.notes if experiment.paper else [],
        arms=arms,
        differences=differences,
        claims=claims,
        missing=[f"{arm.name} seed {seed}" for arm in arms for seed in arm.missing_seeds],
        other_instances=_other_instances(runs),
    )


def _other_instances(runs: Sequence[ArmRun]) -> list[str]:
    """Runs on other instances than most runs, perhaps from before a new mining: their figures answer another question."""
    sets = [frozenset(score.instance_id for score in run.scores) for run in runs]
    ((usual, _),) = Counter(sets).most_common(1)
    return [f"{run.arm} seed {run.seed}" for run, found in zip(runs, sets, strict=True) if found != usual]


def _arm(experiment: Experiment, name: str, scores: Seeds, paper: Paper, runs: Sequence[ArmRun]) -> ArmResult:
    every = [score for rows in scores.values() for score in rows]
    known = [score for score in every if score.error is None]
    figures = {metric: measure(scores, metric_named(metric).statistic) for metric in experiment.metrics}
    return ArmResult(
        name=name,
        label=experiment.label(name),
        seeds=sorted(scores),
        missing_seeds=[seed for seed in experiment.seeds if seed not in scores],
        instances=len({score.instance_id for score in known}),
        episodes=len(known),
        errored=len(every) - len(known),
        figures={key: _figure(found, paper.get(name, {}).get(key)) for key, found in figures.items() if found},
        calls_by_turn=_calls_by_turn(scores),
        nodes={run.seed: dict(run.nodes) for run in runs if run.arm == name},
    )


def _figure(found: Measured, paper: float | None) -> Figure:
    low, high = _rounded(found.low), _rounded(found.high)
    by_seed = {seed: round(value, DIGITS) for seed, value in found.by_seed.items()}
    counts = {"seeds": found.seeds, "instances": found.instances}
    return Figure(estimate=round(found.estimate, DIGITS), low=low, high=high, by_seed=by_seed, paper=paper, **counts)


def _calls_by_turn(scores: Seeds) -> list[TurnCalls]:
    """Means over all seeds together, with the range of each seed's means."""
    episodes = {seed: [row.calls_each_turn for row in rows if row.error is None] for seed, rows in scores.items()}
    own = [{row["turn"]: row["calls"] for row in calls_by_index(found)} for found in episodes.values()]
    together = calls_by_index(calls for found in episodes.values() for calls in found)
    return [
        TurnCalls(
            turn=int(row["turn"]),
            calls=round(row["calls"], DIGITS),
            low=round(min(found[row["turn"]] for found in own if row["turn"] in found), DIGITS),
            high=round(max(found[row["turn"]] for found in own if row["turn"] in found), DIGITS),
            episodes=int(row["episodes"]),
        )
        for row in together
    ]


def _differences(experiment: Experiment, scores: Scores, paper: Paper) -> list[Difference]:
    """Later arm minus earlier arm for every pair in every metric: experiments list the baseline first."""
    pairs = [(later, earlier) for earlier, later in combinations(experiment.arms, 2)]
    found = compare(scores, pairs, {key: metric_named(key).statistic for key in experiment.metrics})
    return [_beside(row, paper) for row in found]


def _beside(row: Difference, paper: Paper) -> Difference:
    """``row`` rounded, with the difference in the paper's table."""
    first, second = (paper.get(arm, {}).get(row.metric) for arm in (row.first, row.second))
    printed = round(first - second, 4) if first is not None and second is not None else None
    return row.model_copy(
        update={
            **{name: _rounded(getattr(row, name)) for name in ("estimate", "low", "high", "of_seeds")},
            "error": None if row.error is None else float(f"{row.error:.6g}"),
            "paper": printed,
            "agrees": row.estimate * printed > 0 if printed and is_ordered(row.metric) else None,
        }
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)
