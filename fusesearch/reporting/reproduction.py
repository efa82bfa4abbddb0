"""The page of a reproduction: tables and figures in Markdown and in HTML, and its numbers as files.

The page leaves out what a run lacks (an arm, a drop table). Only scores are required.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fusesearch.core.config import Params
from fusesearch.core.schema import Score
from fusesearch.core.storage import write_csv, write_json, write_text
from fusesearch.core.text import safe_name
from fusesearch.evaluation.metrics import METRICS, aggregate
from fusesearch.evaluation.statistics import Difference, Measured, compare, measure
from fusesearch.reporting import charts
from fusesearch.reporting.inputs import Inputs, by_arm
from fusesearch.reporting.page import Page, Section
from fusesearch.reporting.table import ARMS, Row, Table, cell, difference_table, pair_name

COMPARISONS = (
    ("sft", "base"),
    ("sft+rl", "sft"),
    ("sft", "lexical"),
    ("sft+rl", "lexical"),
    ("sft", "ranker"),
    ("sft+rl", "ranker"),
)
"""Pairs (first, second) with a reported difference first - second."""

REPORTED = (
    "file_micro_f1", "function_micro_f1", "f1_micro", "file_macro_f1", "function_macro_f1", "f1_macro", "reward",
    "efficiency", "efficiency_call", "turns", "calls_per_turn", "seconds", "tokens_context", "tokens_billed",
)  # fmt: skip
IN_FULL = ("f1_micro", "file_macro_f1", "function_macro_f1", "f1_macro", "reward", "efficiency_call", "tokens_context")
COMPARED = ("f1_macro", "reward", "file_micro_f1", "function_micro_f1", "efficiency", "efficiency_call", "calls_per_turn")
DRAWN = ("f1_macro", "reward")
CLAIMS = (("sft", "base", "f1_macro"), ("sft+rl", "sft", "reward"))
"""What the recipe claims: the first arm above the second in a metric."""
STAR_NOTE = (
    "A star marks p below 0.05 after Holm's correction over the comparisons of one column. An arm is one training, so the test "
    "is over instances: it compares these checkpoints, not two ways to train."
)
"""Explains :func:`differences_table`."""

Summary = dict[str, dict[str, Measured | None]]
"""arm -> metric -> figure with interval, ``None`` if undefined."""


def write_report(inputs: Inputs, params: Params, out: Path, provenance: Sequence[tuple[str, str]] = ()) -> Path:
    """Write ``report.md``, ``report.html`` (needs no other file), ``plots/*.svg``, ``metrics.json`` (flat) and the CSV files
    that ``dvc plots`` reads. ``provenance`` names the sources. Returns the path of the Markdown page.
    """
    arms = by_arm(inputs.scores)
    summary = summarize(arms)
    differences = compare_arms(arms)
    page = page_of(inputs, params, summary, differences, provenance)
    page.write_figures(out)
    for suffix in ("md", "html"):
        write_text(out / f"report.{suffix}", page.render(suffix))
    write_json(out / "metrics.json", flat_metrics(summary, differences, arms))
    write_csv(out / "table2.csv", table_records(summary))
    write_csv(out / "calls_by_turn.csv", [{"arm": arm, **row} for arm, rows in inputs.calls_by_turn.items() for row in rows])
    return out / "report.md"


def page_of(
    inputs: Inputs,
    params: Params,
    summary: Summary,
    differences: Sequence[Difference],
    provenance: Sequence[tuple[str, str]] = (),
) -> Page:
    """The page of these figures; ``provenance`` names the sources."""
    sections = [
        _glance(summary),
        _results(inputs, by_arm(inputs.scores), summary, params),
        _differences(differences),
        _behaviour(inputs),
    ]
    repositories = {score.repo for score in inputs.scores if score.repo}
    held_out = f"{len({score.instance_id for score in inputs.scores})} instances of {len(repositories)} repositories"
    return Page(
        f"FuseSearch reproduction, profile {params.profile}",
        [section for section in sections if section.tables or section.figures],
        ", ".join(filter(None, (verdict(differences), serving(differences)))),
        [("Profile", params.profile), ("Seed", str(params.seed)), ("Held out", held_out), *provenance],
    )


def summarize(arms: Mapping[str, Sequence[Score]]) -> Summary:
    """The metrics in :data:`REPORTED` of every arm, with intervals over instances."""
    return {arm: {key: measure({0: scores}, METRICS[key].statistic) for key in REPORTED} for arm, scores in arms.items()}


def compare_arms(arms: Mapping[str, Sequence[Score]]) -> list[Difference]:
    """Paired differences in :data:`COMPARED` for the :data:`COMPARISONS` whose arms exist."""
    return compare(
        {arm: {0: scores} for arm, scores in arms.items()},
        [pair for pair in COMPARISONS if pair[0] in arms and pair[1] in arms],
        {key: METRICS[key].statistic for key in COMPARED},
    )


def verdict(differences: Sequence[Difference]) -> str:
    """One word for the recipe: whether SFT raises F1 and RL raises the reward, by the corrected tests."""
    claims = [row for row in differences if (row.first, row.second, row.metric) in CLAIMS]
    if any(row.is_significant and row.estimate < 0 for row in claims):
        return "reversed"
    return "holds" if claims and all(row.is_significant for row in claims) else "open"


def serving(differences: Sequence[Difference]) -> str:
    """Whether the last student is worth serving, which the ranker, as it needs no training, decides; "" without its arm."""
    of = METRICS["f1_macro"]
    found = {row.first: row for row in differences if (row.second, row.metric) == ("ranker", of.key)}
    row = found.get("sft+rl") or found.get("sft")
    if row is None:
        return ""
    worth = "worth serving" if row.excludes_zero and row.estimate > 0 else "not worth serving"
    return f"{worth}: {pair_name(row, ARMS)} in {of.heading} {cell(row, of, signed=True)}"


def stages_table(summary: Summary, paper: Sequence[Mapping[str, str]]) -> Table:
    """The columns of FuseSearch table 2: each of our arms, and under it the paper's models at the same stage."""
    columns = [METRICS[key] for key in REPORTED if METRICS[key].paper]
    rows: list[Row] = []
    for arm, figures in summary.items():
        rows.append(Row([label(arm), "ours", *(cell(figures.get(of.key), of) for of in columns)]))
        for line in paper:
            if line["stage"] == arm:
                cells = [line[of.paper or ""] for of in columns]
                rows.append(Row([label(arm), f"{line['model']}, paper", *cells], kind="paper"))
    return Table("Training stages beside FuseSearch table 2", ["Stage", "Model", *(of.heading for of in columns)], rows)


def full_table(summary: Summary, arms: Mapping[str, Sequence[Score]]) -> Table:
    """Figures that the paper's table lacks: means over instances, reward, e by call, context tokens, errored episodes."""
    columns = [METRICS[key] for key in IN_FULL]
    rows = []
    for arm, figures in summary.items():
        counted = aggregate(arms[arm])
        counts = [str(counted[name]) for name in ("instances", "scores", "errored")]
        rows.append(Row([label(arm), *(cell(figures.get(of.key), of) for of in columns), *counts]))
    return Table("Our arms in full", ["Arm", *(of.heading for of in columns), "Instances", "Episodes", "Errored"], rows)


def differences_table(differences: Sequence[Difference]) -> Table:
    """One row per pair of arms, one column per metric."""
    return difference_table("Paired differences between arms", differences, [METRICS[key] for key in COMPARED], ARMS)


def flat_metrics(summary: Summary, differences: Sequence[Difference], arms: Mapping[str, Sequence[Score]]) -> dict[str, Any]:
    """Figures under fixed names, ``<arm>.<metric>`` and ``<first>-<second>.<metric>``; ``+`` in a name becomes ``_``."""
    flat: dict[str, Any] = {}
    for arm, figures in summary.items():
        flat |= {f"{safe_name(arm)}.{key}": found.estimate for key, found in figures.items() if found}
        flat[f"{safe_name(arm)}.errored"] = sum(score.error is not None for score in arms[arm])
    flat |= {f"{safe_name(row.first)}-{safe_name(row.second)}.{row.metric}": row.estimate for row in differences}
    return flat


def table_records(summary: Summary) -> list[dict[str, Any]]:
    """The summary in long form: arm, metric, estimate and bounds; shares in [0, 1], tokens as counts."""
    names = ("estimate", "low", "high", "instances")
    return [
        {"arm": arm, "metric": key, **{name: getattr(found, name) for name in names}}
        for arm, figures in summary.items()
        for key, found in figures.items()
        if found
    ]


def label(arm: str) -> str:
    """The printed name of an arm."""
    return ARMS.get(arm, arm)


def _glance(summary: Summary) -> Section:
    of = METRICS["f1_macro"]
    found = ((label(arm), figures[of.key]) for arm, figures in summary.items())
    rows = [{"arm": name, "who": "ours", **charts.whisker(figure, of)} for name, figure in found if figure]
    chart = charts.estimates(rows, of.heading) if rows else None
    return Section("At a glance", figures=charts.figure("stages", f"{of.heading} by arm, with 95% intervals", chart))


def _results(inputs: Inputs, arms: Mapping[str, Sequence[Score]], summary: Summary, params: Params) -> Section:
    text = [
        "The paper's rows are Qwen3 models of 4B and 30B parameters on 386 instances of SWE-bench Verified; ours are another "
        f"scale (profile {params.profile}, repositories held out from training) and not comparable in absolute terms. What "
        "can be compared is the direction from stage to stage.",
        "Brackets are 95% intervals over instances; the runs of an instance are averaged first. "
        "Pooled figures sum counts over episodes, as the paper's tables do; means are over episodes. Episodes the infrastructure "
        "broke have no score and are counted as errored. The paper's time and tokens are as it prints them; tokens are over all "
        "requests. `fusesearch compare artifacts/evaluate --protocol tooltrain` has the ranked metrics.",
    ]
    return Section("Results", tables=[stages_table(summary, inputs.paper), full_table(summary, arms)], after=text)


def _differences(rows: Sequence[Difference]) -> Section:
    text = f"First minus second over the instances both arms measured, with 95% intervals. {STAR_NOTE}"
    parts = []
    for of in (METRICS[key] for key in DRAWN):
        drawn = [(row, charts.DECIDED if row.is_significant else charts.UNDECIDED) for row in rows if row.metric == of.key]
        marks = [{"pair": pair_name(row, ARMS), "verdict": word, **charts.whisker(row, of)} for row, word in drawn]
        parts.append((of.of_differences, marks))
    figures = charts.figure("differences", "Paired differences with intervals", charts.difference_panels(parts))
    return Section("Paired differences", [], [differences_table(rows)] if rows else [], figures, [text])


def _behaviour(inputs: Inputs) -> Section:
    text = (
        "e is a mean over calls: it says how much of what a call returned was new, never how much was found in all. "
        "Under history by turn a call may repeat another of the same turn at no loss; under history by call it may not."
    )
    rows = [{"name": label(arm), **row} for arm, found in inputs.calls_by_turn.items() for row in found]
    caption = "Calls of tool-using turns by turn index (FuseSearch figure 3); points with fewer than 5 episodes left out"
    chart = charts.profile(rows, list(inputs.calls_by_turn), ARMS)
    return Section("Parallelism", figures=charts.figure("calls_by_turn", caption, chart), after=[text])
