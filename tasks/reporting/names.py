"""Fixed names of the figures of an arm, wherever they stand: MLflow, ``metrics.json``, tables of experiments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tasks.core.overrides import flatten

_QUALITY = {
    f"{level}_{average}_{figure}": f"{figure} at {level} level, {words}"
    for level in ("file", "function")
    for average, words in (("micro", "counts pooled over instances"), ("macro", "mean over instances"))
    for figure in ("precision", "recall", "f1")
}
_RANKED = {
    f"{level}_{figure}": f"{words} at {level} level, mean over instances"
    for level in ("file", "function")
    for figure, words in (
        ("recall_at_1", "Recall@1"),
        ("recall_at_3", "Recall@3"),
        ("recall_at_5", "Recall@5"),
        ("map", "mean average precision"),
        ("mrr", "mean reciprocal rank"),
        ("ndcg_at_5", "nDCG@5"),
    )
}
METRICS: dict[str, str] = {
    **_QUALITY,
    **_RANKED,
    "f1_micro": "0.7 file F1 + 0.3 function F1, of the pooled figures",
    "f1_macro": "0.7 file F1 + 0.3 function F1, mean over instances",
    "efficiency": "tool efficiency e, history of earlier turns",
    "efficiency_call": "tool efficiency e, history of earlier turns and earlier calls of the turn",
    "redundancy": "share of an episode's calls with gain 0, history of earlier turns",
    "redundancy_call": "share of an episode's calls with gain 0, history of earlier turns and earlier calls of the turn",
    "f1_best": "F1 against the best of several accepted answers, mean over instances that have several",
    "reward": "reward R, mean over instances",
    "turns": "assistant messages per episode",
    "calls": "tool calls per episode",
    "calls_per_turn": "tool calls per turn that used tools",
    "tool_success": "share of all calls that came back without an error",
    "failed_calls": "calls per episode that came back as an error",
    "seconds": "wall seconds per episode",
    "seconds_model": "seconds per episode spent in the model",
    "seconds_tools": "seconds per episode spent in tools",
    "seconds_waiting": "seconds per episode spent neither in the model nor in tools",
    "tokens_context": "length of the final conversation",
    "tokens_billed": "prompt and completion tokens over all requests of an episode",
    "tokens_prompt": "prompt tokens over all requests of an episode",
    "tokens_completion": "completion tokens over all requests of an episode",
    "instances": "instances with a score",
    "scores": "episodes with a score",
    "errored": "episodes without a score because the infrastructure failed",
}
"""Figures of an evaluated arm; shares or means unless they say otherwise."""

OF_EXPERIMENTS: dict[str, str] = {
    "redundancy_within": "share of an episode's calls with gain 0 only because of an earlier call of the same turn",
    "calls_first_turn": "tool calls in the first turn that used tools",
    "calls_later_turns": "tool calls per later turn that used tools, mean over episodes that have one (differences: over those "
    "that have one in both arms)",
}
"""Figures that only the results of experiments have, besides those of :data:`METRICS`."""


def summary(aggregate: Mapping[str, Any]) -> dict[str, Any]:
    """What :func:`tasks.evaluation.metrics.aggregate` gives, under the names of :data:`METRICS`."""
    flat = {metric_name(key.replace(".", "_")): value for key, value in flatten(dict(aggregate)).items()}
    return {key: flat[key] for key in METRICS if key in flat}


def metric_name(key: str) -> str:
    """MLflow takes no ``@`` in names."""
    return key.replace("@", "_at_")
