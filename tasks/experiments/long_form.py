"""The results in long form, for files that tables and other programs read."""

from __future__ import annotations

from typing import Any

from tasks.experiments.results import Results
from tasks.experiments.verdicts import ordering


def table_rows(results: Results) -> list[dict[str, Any]]:
    """One row per arm and metric."""
    return [
        {
            "arm": arm.name,
            "metric": metric,
            "estimate": figure.estimate,
            "low": figure.low,
            "high": figure.high,
            "seeds": figure.seeds,
            "instances": figure.instances,
            "paper": figure.paper,
        }
        for arm in results.arms
        for metric, figure in arm.figures.items()
    ]


def difference_rows(results: Results) -> list[dict[str, Any]]:
    """One row per pair of arms and metric; ``ordering`` says what became of the paper's."""
    names = ("metric", "first", "second", "estimate", "low", "high", "p", "p_holm", "seeds", "instances", "paper")
    return [{**{name: getattr(row, name) for name in names}, "ordering": ordering(row)} for row in results.differences]
