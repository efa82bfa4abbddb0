"""The results in long form, for files that tables and other programs read."""

from __future__ import annotations

from typing import Any

from tasks.pipeline.experiments.results import Results
from tasks.pipeline.experiments.verdicts import ordering
from tasks.reporting.columns import column


def table_rows(results: Results) -> list[dict[str, Any]]:
    """One row per arm and metric; shares are between 0 and 1, the paper's too."""
    return [
        {
            "arm": arm.name,
            "metric": metric,
            "estimate": figure.estimate,
            "low": figure.low,
            "high": figure.high,
            "seeds": figure.seeds,
            "instances": figure.instances,
            "paper": _stored(metric, figure.paper),
        }
        for arm in results.arms
        for metric, figure in arm.figures.items()
    ]


def difference_rows(results: Results) -> list[dict[str, Any]]:
    """One row per pair of arms and metric; ``ordering`` says what became of the paper's."""
    names = ("metric", "first", "second", "estimate", "low", "high", "p", "p_holm", "seeds", "instances")
    return [
        {**{name: getattr(row, name) for name in names}, "paper": _stored(row.metric, row.paper), "ordering": ordering(row)}
        for row in results.differences
    ]


def _stored(metric: str, printed: float | None) -> float | None:
    return None if printed is None else round(column(metric).stored(printed), 6)
