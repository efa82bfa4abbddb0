"""Training: every curve that was logged, runs over one another; and the search trees of GRPO."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite, nan
from pathlib import Path
from statistics import fmean

import streamlit as st

from dashboards import read
from dashboards.parts import Columns, Heading, Notice, Part, Plot, attempt, inside
from dashboards.read import Curve
from fusesearch.core.storage import read_json
from fusesearch.evaluation.validation import PREFIX
from fusesearch.reporting import charts
from fusesearch.reporting.curves import CURVES
from fusesearch.reporting.table import ABSENT, Row, Table
from fusesearch.reporting.tree import tree_page
from fusesearch.reporting.validation import TEXT, validation_chart, validation_table

TAB = TITLE = "Training curves"
PANELS: Mapping[str, str] = {
    **CURVES,
    "failed_calls": "Failed calls per episode",
    "tokens_context": "Length of the conversation, tokens",
    "mean_token_accuracy": "Share of tokens predicted",
    "learning_rate": "Learning rate",
    "grad_norm": "Norm of the gradient",
    "tokens_per_second": "Tokens trained a second",
    "mfu": "MFU: share of the GPUs' published peak",
    "cache_hit_share": "Share of prompt tokens that vLLM had cached",
    "sampling/importance_sampling_ratio/capped": "Sampled tokens whose importance ratio was cut",
    "refilled": "Groups replaced for want of variance",
}
"""Figures with their headings, in the order of the page; others that were logged come after them."""

USUAL = ("reward", "f1", "efficiency", "calls_per_turn", "kl", "entropy", "completions/mean_length", "errored", "loss")
"""Figures shown unless others are asked for."""


def screen(root: Path) -> Iterator[Part]:
    """The page of the runs and figures that the side bar asks for."""
    curves, faults = read.main_curves(root)
    nodes = {curve.name: curve for curve in read.node_curves(root)}
    wanted = st.sidebar.multiselect(
        "Runs of experiments",
        list(nodes),
        format_func=lambda name: nodes[name].label,
        key="nodes",
        bind="query-params",
        disabled=not nodes,
    )
    curves += [nodes[name] for name in wanted]
    known = figures_of(curves)
    trees = read.trees(root, wanted)
    tree = st.sidebar.selectbox(
        "Search tree", list(trees), None, key="tree", bind="query-params", placeholder="None", disabled=not trees
    )
    figures = st.sidebar.multiselect(
        "Figures",
        known,
        format_func=lambda key: PANELS.get(key, key),
        key="figures",
        bind="query-params",
        placeholder="The usual ones",
    )
    yield from page(curves, figures or [key for key in USUAL if key in known] or known, faults)
    if tree:
        yield from attempt(tree_parts(trees[tree]))


def tree_parts(path: Path) -> Iterator[Part]:
    """What was asked, and the turns of a search tree. Raises :class:`DataError` for other JSON."""
    yield Heading(path.stem)
    for section in tree_page(read_json(path), path.stem).sections:
        yield from inside(section)


def figures_of(curves: Sequence[Curve]) -> list[str]:
    """All figures that at least one curve has, the known ones first."""
    logged = {key for curve in curves for row in curve.rows for key in row if _means(curve, key)} - {"step", "steps", "epoch"}
    logged = {key for key in logged if not key.startswith(PREFIX)}  # drawn together by _validation
    return [key for key in PANELS if key in logged] + sorted(logged - PANELS.keys())


def page(curves: Sequence[Curve], figures: Sequence[str], faults: Sequence[str] = ()) -> Iterator[Part]:
    """One panel per figure, two side by side; SFT and GRPO count their own steps and have their own panels.

    ``faults`` are lines on curves that are missing or damaged.
    """
    yield from map(Notice, faults)
    if curves:
        yield "Thin lines are what was logged, bold lines a centred mean over a tenth of the run. A step is one update."
    grpo = [curve for curve in curves if curve.stage.startswith("grpo")]
    for title, chosen in (("GRPO", grpo), ("SFT", [curve for curve in curves if curve not in grpo])):
        panels = [panel for key in figures for panel in _panel(key, chosen)]
        if panels:
            yield Heading(title)
            if chosen is grpo and not any(_points(curve, "kl") for curve in chosen):
                yield Notice("KL is logged where `grpo.kl` is above 0", "note")
            yield from (Columns([[panel] for panel in panels[at : at + 2]]) for at in range(0, len(panels), 2))
            yield _ends(chosen, figures)
        if chosen is grpo:
            yield from _validation(chosen)


def _validation(curves: Sequence[Curve]) -> Iterator[Part]:
    rows, labels = {curve.name: curve.rows for curve in curves}, {curve.name: curve.label for curve in curves}
    table = validation_table(rows, labels)
    if table:
        yield Heading("GRPO on held-out prompts")
        yield TEXT
        title = "Differences to step 0"
        yield Plot(validation_chart(rows, labels), title, f"{title}: the table has the figures.")
        yield table


def _means(curve: Curve, key: str) -> bool:
    """Whether a figure says something: TRL logs as GRPO's loss a surrogate that does not fall as it learns."""
    return key != "loss" or not curve.stage.startswith("grpo")


def _points(curve: Curve, key: str) -> list[tuple[float, float]]:
    return [(row["step"], row[key]) for row in curve.rows if isfinite(row.get(key, nan)) and _means(curve, key)]


def _panel(key: str, curves: Sequence[Curve]) -> Iterator[Plot]:
    found = {curve.name: (curve.label, points) for curve in curves if (points := _points(curve, key))}
    if not found:
        return
    title = PANELS.get(key, key)
    labels = {name: label for name, (label, _) in found.items()}
    rows = [{"name": label, **row} for label, points in found.values() for row in charts.smoothed(points)]
    said = [f"{label} from {_mean(points[: _tenth(points)]):.3g} to {_last(points):.3g}" for label, points in found.values()]
    yield Plot(charts.lines(rows, "Step", title, list(found), labels), title, f"{title}: {'; '.join(said)}.")


def _ends(curves: Sequence[Curve], figures: Sequence[str]) -> Table:
    shown = [key for key in figures if any(_points(curve, key) for curve in curves)]
    rows = []
    for curve in curves:
        last = [_last(points) if (points := _points(curve, key)) else None for key in shown]
        steps = f"{max(row['step'] for row in curve.rows):,.0f}"
        rows.append(Row([curve.label, steps, *(ABSENT if value is None else _number(value) for value in last)]))
    return Table("Last tenth of each run, mean", ["Run", "Steps", *(PANELS.get(key, key) for key in shown)], rows)


def _tenth(points: Sequence[tuple[float, float]]) -> int:
    return max(1, len(points) // 10)


def _mean(points: Sequence[tuple[float, float]]) -> float:
    return fmean(value for _, value in points)


def _last(points: Sequence[tuple[float, float]]) -> float:
    return _mean(points[-_tenth(points) :])


def _number(value: float) -> str:
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.4g}"
