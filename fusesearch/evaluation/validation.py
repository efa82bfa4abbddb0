"""The figures of a policy on the same held-out prompts, step after step of its training: columns of the training curve."""

from __future__ import annotations

from collections.abc import Sequence

from fusesearch.core.schema import Score
from fusesearch.evaluation.metrics import METRICS, Metric
from fusesearch.evaluation.statistics import Statistic, difference, measure, quotient

PREFIX = "validation/"
"""Begins the names of these columns."""
GAIN, LOW, HIGH, ERROR = "_gain", "_gain_low", "_gain_high", "_error"
"""End the names of a figure's further columns: its paired difference to step 0, the 95% interval of that, its standard error."""


def _answered(score: Score) -> tuple[float, float]:
    return float(bool(score.predicted_files or score.predicted_values)), 1.0


VALIDATED: dict[str, Metric] = {
    "reward": METRICS["reward"],
    "f1": METRICS["f1_macro"],
    "file_f1": METRICS["file_macro_f1"],
    "function_f1": METRICS["function_macro_f1"],
    "answer_score": METRICS["answer_score"],
    "efficiency": METRICS["efficiency"],
    "turns": METRICS["turns"],
    "tokens": METRICS["tokens_context"],
    "answered": Metric(
        "answered", "Answered (%)", Statistic("answered", _answered, quotient),
        "share of the episodes that name a location, or a value where a question asks for one", percent=True,
    ),
}  # fmt: skip
"""The figures of a validation by column, without :data:`PREFIX`; means over the prompts that have them."""


def validation_figures(first: Sequence[Score], now: Sequence[Score]) -> dict[str, float]:
    """The columns of a step: each figure of :data:`VALIDATED` of ``now``, and how far it is from ``first``, the scores of step 0.

    Differences are paired over the prompts. A figure that no prompt has is left out, an interval that one prompt has, too.
    """
    columns: dict[str, float | None] = {"errored": float(sum(score.error is not None for score in now))}
    for name, of in VALIDATED.items():
        own, gain = measure({0: now}, of.statistic), difference({0: now}, {0: first}, of.statistic)
        if own:
            columns |= {name: own.estimate, name + ERROR: own.spread.error.size if own.spread else None}
        if gain:
            columns |= {name + GAIN: gain.estimate, name + LOW: gain.low, name + HIGH: gain.high}
    return {PREFIX + name: value for name, value in columns.items() if value is not None}
