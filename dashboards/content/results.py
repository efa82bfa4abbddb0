"""Results: arms with intervals beside the paper's rows, and their paired differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from dashboards.content.blocks import Block, Heading, Notice, Plot, Printed, Records, Text, attempt
from dashboards.reading import artifacts
from tasks.core.errors import FusesearchError
from tasks.evaluation.metrics import METRICS, Metric
from tasks.evaluation.statistics import Difference
from tasks.reporting import charts, reproduction
from tasks.reporting.charts import LEAST_EPISODES
from tasks.reporting.inputs import by_arm
from tasks.reporting.reproduction import REPORTED, Summary, label
from tasks.reporting.table import ARMS, Table, difference_cell, pair_name

SHOWN = REPORTED
"""Figures to choose from."""

INTRODUCTION = (
    "The paper's models have 4B and 30B parameters and were measured on 386 instances of SWE-bench Verified; ours are another "
    "scale, on repositories held out from training. Absolute figures cannot be compared; the direction from stage to stage can. "
    "Brackets and whiskers are intervals over instances."
)


def results_page(root: Path, keys: Sequence[str] = ("f1_macro",)) -> list[Block]:
    """The page, with the figures ``keys`` of :data:`SHOWN` drawn."""
    drawn = [block for key in keys for block in _drawn(root, METRICS[key])]
    return [
        Text(INTRODUCTION),
        *attempt(lambda: _tables(root)),
        *drawn,
        Heading("Parallelism"),
        *attempt(lambda: _calls_by_turn(root)),
        Heading("In full"),
        *_full(root),
    ]


def _drawn(root: Path, column: Metric) -> list[Block]:
    return [Heading(column.heading), *_attempts(lambda: [_estimates(root, column)], lambda: _differences(root, column))]


def _attempts(*builds: Callable[[], Sequence[Block]]) -> list[Block]:
    """The blocks of all that can be shown; what several lack is said once."""
    blocks = [block for build in builds for block in attempt(build)]
    return [block for place, block in enumerate(blocks) if not isinstance(block, Notice) or block not in blocks[:place]]


def _tables(root: Path) -> list[Block]:
    paper, faults = _beside(root)
    return [*faults, Printed(reproduction.stages_table(_complete(artifacts.summary(root)), paper))]


def _beside(root: Path) -> tuple[list[dict[str, str]], list[Notice]]:
    """The paper's rows, or what is wrong with them: ours are shown without."""
    try:
        return artifacts.paper_stages(root), []
    except FusesearchError as error:
        return [], [Notice(str(error))]


def _full(root: Path) -> list[Block]:
    return _attempts(
        lambda: [Printed(_arms_table(root))],
        lambda: [Printed(reproduction.ranked_table(by_arm(artifacts.scores(root))))],
        lambda: [Text(reproduction.STAR_NOTE), Printed(reproduction.differences_table(_known(artifacts.differences(root))))],
    )


def _arms_table(root: Path) -> Table:
    arms = by_arm(artifacts.scores(root))
    summary = _complete(artifacts.summary(root))
    return reproduction.full_table({arm: figures for arm, figures in summary.items() if arm in arms}, arms)


def _complete(summary: Summary) -> Summary:
    """Every column is there; absent figures are ``None``."""
    return {arm: {key: figures.get(key) for key in SHOWN} for arm, figures in summary.items()}


def _known(rows: Sequence[Difference]) -> list[Difference]:
    """Differences of the compared figures, for pairs that have all of them."""
    whole = {
        (row.first, row.second)
        for row in rows
        if {other.metric for other in rows if (other.first, other.second) == (row.first, row.second)}
        >= set(reproduction.COMPARED)
    }
    return [row for row in rows if (row.first, row.second) in whole and row.metric in reproduction.COMPARED]


def _estimates(root: Path, column: Metric) -> Block:
    rows = []
    for arm, figures in artifacts.summary(root).items():
        found = figures.get(column.key)
        if found:
            rows.append({"arm": label(arm), "who": "ours", **charts.whisker(found, column)})
            rows += _paper(root, arm, column)
    if not rows:
        return Notice(f"No arm has {column.heading}: run `dvc repro report`")
    beside = " Marks without whiskers are the paper's models." if any(row["who"] != "ours" for row in rows) else ""
    best = max((row for row in rows if row["who"] == "ours"), key=lambda row: float(row["value"] or 0.0))
    alt = f"{column.heading} by arm; the highest of ours is {best['arm']} with {best['value']:.2f}.{beside}"
    return Plot(charts.estimates(rows, column.heading), f"{column.heading} by arm, with intervals.{beside}", alt)


def _paper(root: Path, arm: str, column: Metric) -> list[dict[str, str | float | None]]:
    """The paper's marks for the same stage, in its units, which are ours."""
    if column.paper is None:
        return []
    return [
        {"arm": label(arm), "who": f"{row['model']}, paper", "value": float(row[column.paper]), "low": None, "high": None}
        for row in _beside(root)[0]
        if row["stage"] == arm and row[column.paper]
    ]


def _differences(root: Path, column: Metric) -> list[Block]:
    chosen = [row for row in artifacts.differences(root) if row.metric == column.key]
    if not chosen:
        compared = ", ".join(METRICS[key].heading for key in reproduction.COMPARED)
        return [Notice(f"Differences are measured for {compared}.", "note")]
    rows = [
        {
            "pair": pair_name(row, ARMS),
            "verdict": charts.DECIDED if row.is_significant else charts.UNDECIDED,
            **charts.whisker(row, column),
        }
        for row in chosen
    ]
    clear = [str(row["pair"]) for row in rows if row["verdict"] == charts.DECIDED]
    alt = f"Paired differences in {column.heading}; decided after Holm's correction: {', '.join(clear) or 'none'}."
    shown = [
        {
            "difference": pair_name(row, ARMS),
            column.of_differences: difference_cell(row, column),
            "p": row.p,
            "p after Holm": row.p_holm,
        }
        for row in chosen
    ]
    return [
        Plot(charts.differences(rows, f"Difference in {column.of_differences}"), "Paired differences: first minus second", alt),
        Records("The same in figures; a star marks p below 0.05 after Holm's correction", shown),
    ]


def _calls_by_turn(root: Path) -> list[Block]:
    rows = [row for row in artifacts.calls_by_turn(root) if row["episodes"] >= LEAST_EPISODES]
    if not rows:
        return [Notice(f"Fewer than {LEAST_EPISODES} episodes reached each turn: there is no profile of calls by turn.", "note")]
    arms = list(dict.fromkeys(row["arm"] for row in rows))
    labelled = [{**row, "name": label(row["arm"])} for row in rows]
    ends = [f"{label(arm)} {next(row['calls'] for row in rows if row['arm'] == arm):.1f}" for arm in arms]
    chart = charts.profile(labelled, arms, ARMS)
    assert chart is not None  # noqa: S101 - rows are those it draws
    return [
        Text(
            "Calls of tool-using turns by turn index (FuseSearch figure 3). e says how much of what a call returned was new, "
            "never how much was found: read it beside the number of calls."
        ),
        Plot(
            chart,
            f"Mean calls at each turn; points with fewer than {LEAST_EPISODES} episodes are left out",
            f"Mean calls by turn; in the first: {', '.join(ends)}.",
        ),
    ]
