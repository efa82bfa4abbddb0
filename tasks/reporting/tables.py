"""The tables of the report: arms with intervals, their paired differences, and the papers' figures beside ours.

Numbers are computed here once, as :class:`~tasks.evaluation.statistics.Interval`; a :class:`Table` is their printed form,
the same for Markdown and HTML.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tasks.core.config import Report
from tasks.core.errors import ArtifactError
from tasks.core.schema import Score, Trajectory
from tasks.evaluation import statistics
from tasks.evaluation.metrics import aggregate, calls_by_turn
from tasks.evaluation.statistics import Interval, Statistic
from tasks.reporting.columns import COLUMNS as BY_KEY
from tasks.reporting.columns import Column

ARMS = {"base": "base", "rl": "RL without SFT", "sft": "SFT", "sft+rl": "SFT + RL", "lexical": "lexical (teacher)"}
"""Arms in the order of the paper's table 2, with the names they are printed under. Others are appended as they are."""

COMPARISONS = (("sft", "base"), ("sft+rl", "sft"), ("rl", "base"), ("sft+rl", "rl"), ("sft", "lexical"), ("sft+rl", "lexical"))
"""Pairs (first, second) whose difference first - second is reported."""

REPORTED = (
    "file_micro_f1", "function_micro_f1", "f1_micro", "file_macro_f1", "function_macro_f1", "f1_macro", "reward",
    "efficiency", "efficiency_call", "turns", "calls_per_turn", "seconds", "tokens_context", "tokens_billed",
)  # fmt: skip
COLUMNS = tuple(BY_KEY[key] for key in REPORTED)
QUALITY_COLUMNS = ("f1_micro", "file_macro_f1", "function_macro_f1", "f1_macro", "reward")
COST_COLUMNS = ("efficiency_call", "tokens_context")
COMPARED = ("f1_macro", "reward", "file_micro_f1", "function_micro_f1", "efficiency", "efficiency_call", "calls_per_turn")
STAR_NOTE = (
    "A star marks an interval without zero. p is from the paired permutation test that swaps the arms within instances, after "
    "Holm's correction over the comparisons of one column."
)
"""What stands with :func:`difference_table`."""

Summary = dict[str, dict[str, Interval | None]]
"""arm -> column key -> figure with interval; ``None`` where every score is absent."""


@dataclass(frozen=True)
class Row:
    """A printed row; ``kind`` is ``ours`` or ``paper``; ``link`` is where its first cell leads, "" for nowhere."""

    cells: list[str]
    kind: str = "ours"
    link: str = ""


@dataclass(frozen=True)
class Table:
    """A printed table: cells are text, never markup."""

    caption: str
    header: list[str]
    rows: list[Row] = field(default_factory=list)


@dataclass(frozen=True)
class Difference:
    """``first - second`` in one figure: paired interval, permutation p, and p after Holm within the figure."""

    first: str
    second: str
    key: str
    interval: Interval | None
    p: float | None
    p_holm: float | None = None


def by_arm(scores: Iterable[Score]) -> dict[str, list[Score]]:
    """Scores of each arm; known arms first, in the order of :data:`ARMS`."""
    groups: dict[str, list[Score]] = {}
    for score in scores:
        groups.setdefault(score.arm or score.localizer, []).append(score)
    order = [arm for arm in ARMS if arm in groups] + sorted(groups.keys() - ARMS.keys())
    return {arm: groups[arm] for arm in order}


def summarize(arms: Mapping[str, Sequence[Score]], params: Report, seed: int) -> Summary:
    """Every column of every arm, with bootstrap intervals over instances."""
    return {
        arm: {
            column.key: statistics.interval(
                scores, column.statistic, samples=params.bootstrap_samples, confidence=params.confidence, seed=seed
            )
            for column in COLUMNS
        }
        for arm, scores in arms.items()
    }


def compare(arms: Mapping[str, Sequence[Score]], params: Report, seed: int) -> list[Difference]:
    """Paired differences for all of :data:`COMPARISONS` whose arms are there, corrected figure by figure."""
    pairs = [pair for pair in COMPARISONS if pair[0] in arms and pair[1] in arms]
    found: list[Difference] = []
    for key in COMPARED:
        raw = [_difference(arms, first, second, key, params, seed) for first, second in pairs]
        corrected = statistics.holm([row.p for row in raw])
        found += [Difference(row.first, row.second, key, row.interval, row.p, p) for row, p in zip(raw, corrected, strict=True)]
    return found


def stages_table(summary: Summary, paper: Sequence[Mapping[str, str]]) -> Table:
    """The columns of FuseSearch table 2: each arm of ours, and under it the paper's models at the same stage."""
    columns = [column for column in COLUMNS if column.paper]
    rows: list[Row] = []
    for arm, figures in summary.items():
        rows.append(Row([label(arm), "ours", *(cell(figures[column.key], column) for column in columns)]))
        for line in paper:
            if line["stage"] == arm:
                cells = [line[column.paper or ""] for column in columns]
                rows.append(Row([label(arm), f"{line['model']}, paper", *cells], kind="paper"))
    return Table("Training stages beside FuseSearch table 2", ["Stage", "Model", *(c.heading for c in columns)], rows)


def full_table(summary: Summary, arms: Mapping[str, Sequence[Score]]) -> Table:
    """What the paper's table leaves out: the mean over instances, reward, e by call, tokens of the final conversation, errored
    episodes."""
    columns = [BY_KEY[key] for key in (*QUALITY_COLUMNS, *COST_COLUMNS)]
    rows = []
    for arm, figures in summary.items():
        counted = aggregate(arms[arm])
        counts = [str(counted["instances"]), str(counted["scores"]), str(counted["errored"])]
        rows.append(Row([label(arm), *(cell(figures[column.key], column) for column in columns), *counts]))
    return Table(
        "Our arms in full", ["Arm", *(c.heading for c in columns), "Instances", "Episodes", "Errored"], rows
    )  # fmt: skip


def ranked_table(arms: Mapping[str, Sequence[Score]]) -> Table:
    """Precision, recall and the ranked metrics of both levels, without intervals."""
    names = ("recall@1", "recall@3", "recall@5", "map", "mrr", "ndcg@5")
    header = ["Arm", "Level", "P pooled", "R pooled", "P mean", "R mean", *names]
    rows = []
    for arm, scores in arms.items():
        counted = aggregate(scores)
        for level in ("file", "function"):
            summary = counted[level]
            averages = [summary[average][name] for average in ("micro", "macro") for name in ("precision", "recall")]
            rows.append(Row([label(arm), level, *(_percent(value) for value in (*averages, *(summary[n] for n in names)))]))
    return Table("Precision, recall and ranked metrics (%)", header, rows)


def difference_table(differences: Sequence[Difference]) -> Table:
    """One row per pair of arms, one column per figure; a star marks an interval without zero."""
    pairs = list(dict.fromkeys((row.first, row.second) for row in differences))
    found = {(row.first, row.second, row.key): row for row in differences}
    rows = [
        Row([f"{label(first)} − {label(second)}", *(_difference_cell(found[first, second, key]) for key in COMPARED)])  # noqa: RUF001
        for first, second in pairs
    ]
    return Table("Paired differences between arms", ["Difference", *(BY_KEY[key].of_differences for key in COMPARED)], rows)


def drops_table(caption: str, drops: Mapping[str, Any]) -> Table:
    """Rule and how many it dropped, in the order the stage applied them."""
    return Table(caption, ["Rule", "Rows"], [Row([str(rule), str(number)]) for rule, number in drops.items()])


def mined_tables(mined: Mapping[str, Any]) -> list[Table]:
    """What mining tried, kept and dropped: by repository, by kind of fault and by hop count; only the parts that are there.

    The source ``synthetic`` alone has kinds of fault: it tries mutants of packages, the others look at what repositories have.
    """
    repositories = [
        {key: value for key, value in row.items() if not isinstance(value, dict)} for row in mined.get("repositories", [])
    ]
    kinds = [{"kind": kind, **counts} for kind, counts in mined.get("kinds", {}).items()]
    hops = [{"hops": hops, "instances": number} for hops, number in mined.get("hops", {}).items()]
    planted = "kinds" in mined
    parts = (
        _records("Mined pairs by repository", repositories),
        _records("Planted faults by kind", kinds),
        _records("Calls between example and fault (hops)", hops),
        drops_table("Mutants tried and not kept" if planted else "Looked at and no pair, by reason", mined.get("dropped", {})),
        drops_table("Packages skipped" if planted else "Repositories skipped", mined.get("skipped", {})),
    )
    return [table for table in parts if table.rows]


def _records(caption: str, records: Sequence[Mapping[str, Any]]) -> Table:
    header = list(dict.fromkeys(key for record in records for key in record))
    return Table(caption, header, [Row([_plain(record.get(key, "")) for key in header]) for record in records])


def calls_by_turn_index(trajectories: Iterable[Trajectory]) -> list[dict[str, float]]:
    """Mean calls of tool-using turns at each turn index, from 1 (FuseSearch figure 3), and how many episodes had one."""
    return calls_by_index(calls_by_turn(trajectory) for trajectory in trajectories if trajectory.error is None)


def calls_by_index(episodes: Iterable[Sequence[int]]) -> list[dict[str, float]]:
    """As :func:`calls_by_turn_index`, from the calls of each turn of each episode."""
    calls: dict[int, list[int]] = {}
    for turns in episodes:
        for index, number in enumerate(turns, 1):
            if number:
                calls.setdefault(index, []).append(number)
    return [{"turn": index, "calls": sum(found) / len(found), "episodes": len(found)} for index, found in sorted(calls.items())]


def flat_metrics(summary: Summary, differences: Sequence[Difference], arms: Mapping[str, Sequence[Score]]) -> dict[str, Any]:
    """Figures under fixed names, ``<arm>.<column>`` and ``<first>-<second>.<column>``; ``+`` in a name becomes ``_``."""
    flat: dict[str, Any] = {}
    for arm, figures in summary.items():
        flat |= {f"{slug(arm)}.{key}": found.estimate for key, found in figures.items() if found}
        flat[f"{slug(arm)}.errored"] = sum(score.error is not None for score in arms[arm])
    for row in differences:
        if row.interval:
            flat[f"{slug(row.first)}-{slug(row.second)}.{row.key}"] = row.interval.estimate
    return flat


def table_records(summary: Summary) -> list[dict[str, Any]]:
    """The summary in long form: arm, column, estimate and bounds; shares in [0, 1], tokens as counts."""
    return [
        {
            "arm": arm,
            "metric": key,
            "estimate": found.estimate,
            "low": found.low,
            "high": found.high,
            "instances": found.instances,
        }
        for arm, figures in summary.items()
        for key, found in figures.items()
        if found
    ]


def difference_records(differences: Sequence[Difference]) -> list[dict[str, Any]]:
    """The differences in long form, in the units of :func:`table_records`."""
    return [
        {
            "first": row.first, "second": row.second, "metric": row.key, "estimate": row.interval.estimate,
            "low": row.interval.low, "high": row.interval.high, "instances": row.interval.instances,
            "p": row.p, "p_holm": row.p_holm,
        }
        for row in differences
        if row.interval
    ]  # fmt: skip


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file. Raises :class:`ArtifactError` when it cannot be read."""
    try:
        with path.open(encoding="utf-8", newline="") as handle:
            return list(csv.DictReader(handle))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ArtifactError(f"{path} cannot be read: {' '.join(str(error).split())}") from None


def label(arm: str) -> str:
    """The name an arm is printed under."""
    return ARMS.get(arm, arm)


def slug(arm: str) -> str:
    """The arm's name with only letters, digits, dots, dashes and underscores, as metric stores ask for."""
    return "".join(char if char.isalnum() or char in "._-" else "_" for char in arm)


def cell(found: Interval | None, column: Column, signed: bool = False) -> str:
    """``estimate [low, high]``; a dash where the score is absent."""
    if found is None:
        return "–"  # noqa: RUF001
    if found.low is None or found.high is None:
        return column.show(found.estimate, signed)
    return f"{column.show(found.estimate, signed)} [{column.show(found.low, signed)}, {column.show(found.high, signed)}]"


def _difference(arms: Mapping[str, Sequence[Score]], first: str, second: str, key: str, params: Report, seed: int) -> Difference:
    return measured_difference(arms, first, second, key, BY_KEY[key].statistic, params, seed)


def measured_difference(
    arms: Mapping[str, Sequence[Score]], first: str, second: str, key: str, statistic: Statistic, params: Report, seed: int
) -> Difference:
    """``first - second`` in one figure, with interval and p, not yet corrected."""
    samples = params.bootstrap_samples
    pair = (arms[first], arms[second], statistic)
    found = statistics.difference(*pair, samples=samples, confidence=params.confidence, seed=seed)
    return Difference(first, second, key, found, statistics.permutation_p(*pair, samples=samples, seed=seed))


def _difference_cell(row: Difference) -> str:
    return difference_cell(row, BY_KEY[row.key])


def difference_cell(row: Difference, column: Column) -> str:
    """``difference [low, high] p=...``, with a star where the interval leaves zero out."""
    text = cell(row.interval, column, signed=True)
    if row.interval and row.interval.excludes_zero:
        text = text.replace(" [", " * [", 1)
    return text if row.p_holm is None else f"{text} p={_p(row.p_holm)}"


def _p(value: float) -> str:
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"  # noqa: RUF001


def _plain(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
