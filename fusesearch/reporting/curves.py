"""Training curves: the columns for pages, mean and range over seeds, and validation while a policy trains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from fusesearch.core.storage import read_csv
from fusesearch.evaluation.metrics import METRICS, Metric
from fusesearch.evaluation.validation import ERROR, GAIN, HIGH, LOW, PREFIX, VALIDATED
from fusesearch.reporting.table import ABSENT, Row, Table

CURVES = {
    "reward": "Mean reward of the rollouts",
    "f1": METRICS["f1_macro"].name,
    **{key: METRICS[key].name for key in ("efficiency", "efficiency_call", "calls_per_turn", "turns", "tool_success")},
    "redundancy_call": METRICS["redundancy_call"].name,
    "kl": "KL to the reference policy",
    "entropy": "Entropy of the policy",
    "completions/mean_length": "Tokens of a completion, mean",
    "completions/clipped_ratio": "Completions cut at the limit",
    "errored": "Errored rollouts",
    "loss": "Loss on assistant tokens",
}
"""Columns of a training curve on pages, with their headings."""

DIGITS = 5


def read_curve(path: Path) -> list[dict[str, float]]:
    """The logged steps of a training stage, numbers only; empty if the file does not exist."""
    known = read_csv(path) if path.exists() else []
    rows = [{key: number for key, text in row.items() if (number := _number(text)) is not None} for row in known]
    return [row for row in rows if "step" in row]


def over_seeds(curves: Iterable[Sequence[Mapping[str, float]]]) -> list[dict[str, Any]]:
    """One row per step: ``step``, ``seeds`` and, for each column of :data:`CURVES`, mean, ``_low`` and ``_high``."""
    steps: dict[float, list[Mapping[str, float]]] = {}
    for rows in curves:
        for row in rows:
            steps.setdefault(row["step"], []).append(row)
    return [{"step": int(step), "seeds": len(rows), **_figures(rows)} for step, rows in sorted(steps.items())]


def _figures(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for key in CURVES:
        values = [row[key] for row in rows if key in row]
        for end, value in (("", fmean), ("_low", min), ("_high", max)) if values else ():
            found[key + end] = float(f"{value(values):.{DIGITS}g}")
    return found


def _number(text: str) -> float | None:
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


Curves = Mapping[str, Sequence[Mapping[str, float]]]
"""Rows of training curves by name."""

TEXT = (
    "Held-out prompts are instances of the rl split that training never sees. The weights that the run would leave at a step "
    "answer them greedily. Differences are to step 0 on the same prompts, with 95% intervals; after the ± is the standard error. "
    "Intervals are of one step each: the best of many steps looks better than it is."
)


def validation_table(curves: Curves, labels: Mapping[str, str]) -> Table | None:
    """One row per curve and validated step; ``None`` without any."""
    shown = {name: of for name, of in VALIDATED.items() if any(True for _ in _validated(curves, name))}
    rows = [
        Row([labels.get(name, name), f"{row['step']:.0f}", *(_cell(row, key, of) for key, of in shown.items())])
        for name, curve in curves.items()
        for row in curve
        if any(PREFIX + key in row for key in shown)
    ]
    return Table("Held-out prompts by step", ["Run", "Step", *(of.heading for of in shown.values())], rows) if rows else None


def validation_chart(curves: Curves, labels: Mapping[str, str]) -> Any:
    """A panel per figure: its paired difference to step 0 and the interval, step by step; ``None`` without a validation."""
    from fusesearch.reporting import charts

    parts = [
        (
            of.of_differences,
            [
                {"name": labels.get(name, name), "x": row["step"], **_difference(row, PREFIX + key, of.factor)}
                for name, row in _validated(curves, key + GAIN)
            ],
        )
        for key, of in VALIDATED.items()
    ]
    return charts.panels(parts, "GRPO step, difference to step 0", [*dict.fromkeys(name for name in curves)], labels)


def _validated(curves: Curves, key: str) -> Iterator[tuple[str, Mapping[str, float]]]:
    return ((name, row) for name, rows in curves.items() for row in rows if PREFIX + key in row)


def _difference(row: Mapping[str, float], column: str, factor: float) -> dict[str, float]:
    gain = row[column + GAIN]
    low, high = row.get(column + LOW, gain), row.get(column + HIGH, gain)
    return {"smooth": gain * factor, "low": low * factor, "high": high * factor}


def _cell(row: Mapping[str, float], key: str, of: Metric) -> str:
    if PREFIX + key not in row:
        return ABSENT
    error = row.get(PREFIX + key + ERROR)
    return of.show(row[PREFIX + key]) + ("" if error is None else f" ± {of.show(error)}")
