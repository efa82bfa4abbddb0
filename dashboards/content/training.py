"""Training: every curve that was logged, runs over one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, nan
from statistics import fmean
from typing import Any

from dashboards.content.blocks import Block, Columns, Heading, Notice, Plot, Records, Text
from dashboards.reading.curves import Curve
from tasks.reporting import charts
from tasks.reporting.curves import CURVES

PANELS: Mapping[str, str] = {
    **CURVES,
    "failed_calls": "Failed calls per episode",
    "tokens_context": "Length of the conversation, tokens",
    "mean_token_accuracy": "Share of tokens foretold",
    "learning_rate": "Learning rate",
    "grad_norm": "Norm of the gradient",
}
"""Figures with their headings, in the order of the page; others that were logged come after them."""

USUAL = ("reward", "f1", "efficiency", "calls_per_turn", "kl", "entropy", "completions/mean_length", "errored", "loss")
"""Figures shown unless others are asked for."""


def figures_of(curves: Sequence[Curve]) -> list[str]:
    """All figures that at least one curve has, the known ones first."""
    logged = {key for curve in curves for row in curve.rows for key in row if _means(curve, key)} - {"step", "steps", "epoch"}
    return [key for key in PANELS if key in logged] + sorted(logged - PANELS.keys())


def training_page(curves: Sequence[Curve], figures: Sequence[str], faults: Sequence[str] = ()) -> list[Block]:
    """One panel per figure, two side by side; SFT and GRPO count steps of their own and have panels of their own.

    ``faults`` are lines on curves that are missing or damaged.
    """
    blocks: list[Block] = [Notice(fault) for fault in faults]
    blocks += [Notice(curve.lacks, "note") for curve in curves if curve.lacks]
    if not curves:
        return blocks
    blocks.append(
        Text(
            "Thin lines are what was logged, bold lines a centred mean over a tenth of the run. A step is one update of weights."
        )
    )
    for title, chosen in _families(curves):
        panels = [panel for key in figures if (panel := _panel(key, chosen))]
        if panels:
            blocks.append(Heading(title))
            if title == "GRPO" and not any(_points(curve, "kl") for curve in chosen):
                blocks.append(Notice("KL is logged where `grpo.kl` is above 0", "note"))
            blocks += [Columns([[panel] for panel in panels[at : at + 2]]) for at in range(0, len(panels), 2)]
            blocks.append(Records("Last tenth of each run, mean", _ends(chosen, figures)))
    return blocks


def _families(curves: Sequence[Curve]) -> list[tuple[str, list[Curve]]]:
    reinforced = [curve for curve in curves if _reinforced(curve)]
    tuned = [curve for curve in curves if not _reinforced(curve)]
    return [(title, found) for title, found in (("GRPO", reinforced), ("SFT", tuned)) if found]


def _reinforced(curve: Curve) -> bool:
    return curve.stage.startswith("grpo")


def _means(curve: Curve, key: str) -> bool:
    """Whether a figure says something: TRL logs as GRPO's loss a surrogate that does not fall as it learns."""
    return key != "loss" or not _reinforced(curve)


def _panel(key: str, curves: Sequence[Curve]) -> Plot | None:
    names, labels, rows = [], {}, []
    for curve in curves:
        points = _points(curve, key)
        if points:
            names.append(curve.name)
            labels[curve.name] = curve.label
            rows += [{"name": curve.label, **row} for row in charts.smoothed(points)]
    if not rows:
        return None
    title = PANELS.get(key, key)
    said = [f"{curve.label} from {_begin(curve, key):.3g} to {_end(curve, key):.3g}" for curve in curves if _points(curve, key)]
    return Plot(charts.lines(rows, "Step", title, names, labels), title, f"{title}: {'; '.join(said)}.")


def _points(curve: Curve, key: str) -> list[tuple[float, float]]:
    return [(row["step"], row[key]) for row in curve.rows if isfinite(row.get(key, nan)) and _means(curve, key)]


def _ends(curves: Sequence[Curve], figures: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {"run": curve.label, "steps": max((row["step"] for row in curve.rows), default=0)}
        | {PANELS.get(key, key): _end(curve, key) for key in figures if _points(curve, key)}
        for curve in curves
    ]


def _begin(curve: Curve, key: str) -> float:
    values = [value for _, value in _points(curve, key)]
    return fmean(values[: max(1, len(values) // 10)])


def _end(curve: Curve, key: str) -> float:
    values = [value for _, value in _points(curve, key)]
    return fmean(values[-max(1, len(values) // 10) :])
