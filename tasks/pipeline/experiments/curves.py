"""Training curves of an experiment's arms: mean and range over the seeds at every step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from tasks.pipeline.experiments.outcome import ArmRun
from tasks.pipeline.experiments.spec import Experiment
from tasks.reporting.inputs import read_curve

CURVES = {
    "reward": "Mean reward of the rollouts",
    "f1": "F1 (0.7 file + 0.3 function)",
    "efficiency": "e, history by turn",
    "efficiency_call": "e, history by call",
    "calls_per_turn": "Tool calls per tool-using turn",
    "turns": "Turns",
    "tool_success": "Tool success",
    "redundancy_call": "Redundant calls, history by call",
    "kl": "KL to the reference policy",
    "entropy": "Entropy of the policy",
    "completions/mean_length": "Tokens of a completion, mean",
    "completions/clipped_ratio": "Completions cut at the limit",
    "errored": "Errored rollouts",
    "loss": "Loss on assistant tokens",
}
"""Columns of a training curve that are kept, with the headings of their figures."""

DIGITS = 5


def spread_curves(experiment: Experiment, runs: Sequence[ArmRun]) -> list[dict[str, Any]]:
    """One row per arm, training stage and step: ``seeds`` and, for each column of :data:`CURVES`, mean, ``_low`` and ``_high``.

    Stages whose run two arms share are in both arms. Curves that are not there are left out.
    """
    rows: list[dict[str, Any]] = []
    for arm in experiment.arms:
        own = [run for run in runs if run.arm == arm]
        for stage in dict.fromkeys(stage for run in own for stage in run.curves):
            logged = [read_curve(run.curves[stage]) for run in own if stage in run.curves]
            rows += [{"arm": arm, "stage": stage, **row} for row in _by_step(logged)]
    return rows


def _by_step(curves: Iterable[Sequence[Mapping[str, float]]]) -> list[dict[str, Any]]:
    steps: dict[float, list[Mapping[str, float]]] = {}
    for rows in curves:
        for row in rows:
            steps.setdefault(row["step"], []).append(row)
    return [{"step": int(step), "seeds": len(rows), **_figures(rows)} for step, rows in sorted(steps.items())]


def _figures(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for key in CURVES:
        values = [row[key] for row in rows if key in row]
        if values:
            found |= {key: _short(fmean(values)), f"{key}_low": _short(min(values)), f"{key}_high": _short(max(values))}
    return found


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
