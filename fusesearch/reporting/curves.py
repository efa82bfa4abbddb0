"""Training curves: the columns for pages, and mean and range over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from fusesearch.core.storage import read_csv
from fusesearch.evaluation.metrics import METRICS
from fusesearch.evaluation.validation import PREFIX, VALIDATED

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
    **{PREFIX + key: f"Held-out prompts: {of.name}" for key, of in VALIDATED.items()},
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
