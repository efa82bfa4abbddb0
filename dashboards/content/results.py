"""Results: arms with intervals beside the paper's rows, and their paired differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from dashboards import charts
from dashboards.content.blocks import Block, Heading, Notice, Plot, Printed, Records, Text, attempt
from dashboards.reading import artifacts
from tasks.core.errors import FusesearchError
from tasks.pipeline.experiments.figures import LEAST_EPISODES
from tasks.pipeline.experiments.verdicts import LEVEL
from tasks.reporting import tables
from tasks.reporting.columns import COLUMNS as BY_KEY
from tasks.reporting.columns import Column
from tasks.reporting.tables import COLUMNS, Difference, Summary, Table

SHOWN = tuple(column.key for column in COLUMNS)
"""Figures to choose from."""

INTRODUCTION = (
    "The paper's models have 4B and 30B parameters and were measured on 386 instances of SWE-bench Verified; ours are another "
    "scale, on repositories held out from training. Absolute figures cannot be compared; the direction from stage to stage can. "
    "Brackets and whiskers are bootstrap intervals over instances."
)


def results_page(root: Path, keys: Sequence[str] = ("f1_macro",)) -> list[Block]:
    """The page, with the figures ``keys`` of :data:`SHOWN` drawn."""
    drawn = [block for key in keys for block in _drawn(root, BY_KEY[key])]
    return [
        Text(INTRODUCTION),
        *attempt(lambda: _tables(root)),
        *drawn,
        Heading("Parallelism"),
        *attempt(lambda: _calls_by_turn(root)),
        Heading("In full"),
        *_full(root),
    ]


def _drawn(root: Path, column: Column) -> list[Block]:
    return [Heading(column.heading), *_attempts(lambda: [_estimates(root, column)], lambda: _differences(root, column))]


def _attempts(*builds: Callable[[], Sequence[Block]]) -> list[Block]:
    """The blocks of all that can be shown; what several lack is said once."""
    blocks = [block for build in builds for block in attempt(build)]
    return [block for place, block in enumerate(blocks) if not isinstance(block, Notice) or block not in blocks[:place]]


def _tables(root: Path) -> list[Block]:
    paper, faults = _beside(root)
    return [*faults, Printed(tables.stages_table(_complete(artifacts.summary(root)), paper))]


def _beside(root: Path) -> tuple[list[dict[str, str]], list[Notice]]:
    """The paper's rows, or what is wrong with them: ours are shown without."""
    try:
        return artifacts.paper_stages(root), []
    except FusesearchError as error:
        return [], [Notice(str(error))]


def _full(root: Path) -> list[Block]:
    return _attempts(
        lambda: [Printed(_arms_table(root))],
        lambda: [Printed(tables.ranked_table(tables.by_arm(artifacts.scores(root))))],
        lambda: [Text(tables.STAR_NOTE), Printed(tables.difference_table(_known(artifacts.differences(root))))],
    )


def _arms_table(root: Path) -> Table:
    arms = tables.by_arm(artifacts.scores(root))
    summary = _complete(artifacts.summary(root))
    return tables.full_table({arm: figures for arm, figures in summary.items() if arm in arms}, arms)


def _complete(summary: Summary) -> Summary:
    """Every column is there; absent figures are ``None``."""
    return {arm: {key: figures.get(key) for key in SHOWN} for arm, figures in summary.items()}


def _known(rows: Sequence[Difference]) -> list[Difference]:
    """Differences of the compared figures, for pairs that have all of them."""
    whole = {
        (row.first, row.second)
        for row in rows
        if {other.key for other in rows if (other.first, other.second) == (row.first, row.second)} >= set(tables.COMPARED)
    }
    return [row for row in rows if (row.first, row.second) in whole and row.key in tables.COMPARED]


def _estimates(root: Path, column: Column) -> Block:
    rows = []
    for arm, figures in artifacts.summary(root).items():
        found = figures.get(column.key)
        if found:
            rows.append(
                {"arm": tables.label(arm), "who": "ours", **charts.whisker(found.estimate, found.low, found.high, column)}
            )
            rows += _paper(root, arm, column)
    if not rows:
        return Notice(f"No arm has {column.heading}: run `dvc repro report`")
    beside = " Marks without whiskers are the paper's models." if any(row["who"] != "ours" for row in rows) else ""
    best = max((row for row in rows if row["who"] == "ours"), key=lambda row: float(row["value"] or 0.0))
    alt = f"{column.heading} by arm; the highest of ours is {best['arm']} with {best['value']:.2f}.{beside}"
    return Plot(charts.estimates(rows, column.heading), f"{column.heading} by arm, with intervals.{beside}", alt)


def _paper(root: Path, arm: str, column: Column) -> list[dict[str, str | float | None]]:
    """The paper's marks for the same stage, in its units, which are ours."""
    if column.paper is None:
        return []
    return [
        {"arm": tables.label(arm), "who": f"{row['model']}, paper", "value": float(row[column.paper]), "low": None, "high": None}
        for row in _beside(root)[0]
        if row["stage"] == arm and row[column.paper]
    ]


def _differences(root: Path, column: Column) -> list[Block]:
    chosen = [row for row in artifacts.differences(root) if row.key == column.key and row.interval]
    if not chosen:
        compared = ", ".join(BY_KEY[key].heading for key in tables.COMPARED)
        return [Notice(f"Differences are measured for {compared}.", "note")]
    rows = [
        {
            "pair": _pair(row),
            "verdict": charts.DECIDED if row.p_holm is not None and row.p_holm < LEVEL else charts.UNDECIDED,
            **charts.whisker(row.interval.estimate, row.interval.low, row.interval.high, column),
        }
        for row in chosen
        if row.interval
    ]
    clear = [str(row["pair"]) for row in rows if row["verdict"] == charts.DECIDED]
    alt = f"Paired differences in {column.heading}; decided after Holm's correction: {', '.join(clear) or 'none'}."
    shown = [
        {
            "difference": _pair(row),
            column.of_differences: tables.difference_cell(row, column),
            "p": row.p,
            "p after Holm": row.p_holm,
        }
        for row in chosen
    ]
    return [
        Plot(charts.differences(rows, f"Difference in {column.of_differences}"), "Paired differences: first minus second", alt),
        Records("The same in figures; a star marks an interval without zero", shown),
    ]


def _pair(row: Difference) -> str:
    return f"{tables.label(row.first)} − {tables.label(row.second)}"  # noqa: RUF001


def _calls_by_turn(root: Path) -> list[Block]:
    rows = [row for row in artifacts.calls_by_turn(root) if row["episodes"] >= LEAST_EPISODES]
    if not rows:
        return [Notice(f"Fewer than {LEAST_EPISODES} episodes reached each turn: there is no profile of calls by turn.", "note")]
    arms = list(dict.fromkeys(row["arm"] for row in rows))
    labelled = [{**row, "name": tables.label(row["arm"])} for row in rows]
    ends = [f"{tables.label(arm)} {next(row['calls'] for row in rows if row['arm'] == arm):.1f}" for arm in arms]
    return [
        Text(
            "Calls of tool-using turns by turn index (FuseSearch figure 3). e says how much of what a call returned was new, "
            "never how much was found: read it beside the number of calls."
        ),
        Plot(
            charts.profile(labelled, arms, tables.ARMS),
            f"Mean calls at each turn; points with fewer than {LEAST_EPISODES} episodes are left out",
            f"Mean calls by turn; in the first: {', '.join(ends)}.",
        ),
    ]
