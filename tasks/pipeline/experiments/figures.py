"""The figures of an experiment as SVG: colours that colour-blind people tell apart, a second cue beside each, always a legend."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tasks.core.errors import ConfigError
from tasks.pipeline.experiments.curves import CURVES
from tasks.pipeline.experiments.results import ArmResult, ClaimResult, Results
from tasks.pipeline.experiments.spec import Experiment
from tasks.reporting.columns import Column, column
from tasks.reporting.pages import Figure
from tasks.reporting.plots import drawn, lines, markers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Rows = Sequence[Mapping[str, Any]]
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#555555"
LEAST_EPISODES = 5
OTHER_SCALE = ("time_s", "tokens_k")
"""Columns of the paper whose sizes have nothing to do with ours: its differences would squeeze ours to a point."""

ALWAYS = ("arms", "differences")
"""Drawn for every experiment; `figures` in its YAML adds others."""


def draw(experiment: Experiment, results: Results, curves: Rows) -> list[Figure]:
    """The figures the experiment asks for, as far as there is something to draw. Raises :class:`ConfigError` for unknown ones."""
    check_figures(experiment)
    found = []
    for name in dict.fromkeys((*ALWAYS, *experiment.figures)):
        caption, of = FIGURES[name]
        svg = of(results, curves)
        if svg:
            found.append(Figure(name, caption, svg))
    return found


def check_figures(experiment: Experiment) -> None:
    """Raise :class:`ConfigError` for a figure that there is not, naming those there are."""
    if unknown := [name for name in experiment.figures if name not in FIGURES]:
        raise ConfigError(f"{experiment.name}: there is no figure {unknown[0]!r}: use {', '.join(FIGURES)}")


def arms(results: Results, curves: Rows) -> str | None:
    """The primary metric of each arm: interval, the seeds' own figures, and the paper's."""
    of = column(results.primary)
    shown = [arm for arm in results.arms if results.primary in arm.figures]
    if not shown:
        return None
    with drawn(8, 1.4 + 0.42 * len(shown)) as (figure, output):
        axes = figure.add_subplot()
        for height, arm in enumerate(reversed(shown)):
            _arm(axes, height, arm, of)
        axes.set_yticks(range(len(shown)), [arm.label for arm in reversed(shown)])
        axes.set(xlabel=of.heading)
        axes.margins(y=0.15)
        _legend(figure)
    return output.getvalue()


def _arm(axes: Axes, height: int, arm: ArmResult, of: Column) -> None:
    found = arm.figures[of.key]
    if found.low is not None and found.high is not None:
        axes.plot([of.shown(found.low), of.shown(found.high)], [height] * 2, color=BLUE, linewidth=2, label="95% interval")
    axes.plot(of.shown(found.estimate), height, "o", color=BLUE, markersize=7, label="ours")
    seeds = [of.shown(value) for value in found.by_seed.values()]
    axes.plot(seeds, [height - 0.22] * len(seeds), "|", color=GREY, markersize=8, label="one seed")
    if found.paper is not None:
        axes.plot(found.paper, height, "D", color=ORANGE, markerfacecolor="white", label="the paper")


def differences(results: Results, curves: Rows) -> str | None:
    """What each claim compares, a panel per metric: filled where the corrected test decides, hollow where it does not."""
    claims = [claim for claim in results.claims if claim.estimate is not None]
    groups: dict[str, list[ClaimResult]] = {}
    for claim in claims:
        groups.setdefault(claim.metric, []).append(claim)
    if not groups:
        return None
    sizes = [len(found) + 1.2 for found in groups.values()]
    with drawn(9, 0.9 + 0.38 * sum(sizes)) as (figure, output):
        panels = figure.subplots(len(groups), 1, gridspec_kw={"height_ratios": sizes}, squeeze=False)[:, 0]
        for axes, (metric, found) in zip(panels, groups.items(), strict=True):
            _forest(axes, results, column(metric), found)
        _legend(figure)
    return output.getvalue()


def _forest(axes: Axes, results: Results, of: Column, claims: Sequence[ClaimResult]) -> None:
    for height, claim in enumerate(reversed(claims)):
        low, high = (claim.estimate if bound is None else bound for bound in (claim.low, claim.high))
        decided = claim.verdict in ("confirmed", "refuted")
        axes.plot([of.shown(low or 0), of.shown(high or 0)], [height] * 2, color=BLUE, linewidth=2)
        label = "decided after Holm" if decided else "undecided"
        face = BLUE if decided else "white"
        axes.plot(of.shown(claim.estimate or 0), height, "o", color=BLUE, markerfacecolor=face, markersize=7, label=label)
        if claim.paper_difference is not None and of.paper not in OTHER_SCALE:
            axes.plot(claim.paper_difference, height, "D", color=ORANGE, markerfacecolor="white", label="the paper")
        if claim.margin is not None:
            edge = of.shown(claim.margin if claim.lower else -claim.margin)
            axes.plot(
                [edge] * 2, [height - 0.35, height + 0.35], color=ORANGE, linewidth=2, linestyle=":", label="margin of the claim"
            )
    names = [f"{results.arm(claim.better).label} − {results.arm(claim.than).label}" for claim in reversed(claims)]  # noqa: RUF001
    names = [f"{name} (margin)" if claim.margin else name for name, claim in zip(names, reversed(claims), strict=True)]
    axes.set_yticks(range(len(claims)), names)
    axes.axvline(0, color=GREY, linewidth=1)
    axes.set_title(of.of_differences, loc="left", fontsize=10)
    axes.set_ylim(-0.6, len(claims) - 0.4)


def calls_by_turn(results: Results, curves: Rows) -> str | None:
    """Calls of tool-using turns by turn index, with the range over seeds (FuseSearch figure 3)."""
    known = {arm.name: [row for row in arm.calls_by_turn if row.episodes >= LEAST_EPISODES] for arm in results.arms}
    if not any(known.values()):
        return None
    with drawn(7.5, 3.8) as (figure, output):
        axes = figure.add_subplot()
        dashes, points = lines(known), markers(known)
        for name, rows in known.items():
            turns, style = [row.turn for row in rows], dashes[name] | points[name]
            axes.fill_between(turns, [r.low for r in rows], [r.high for r in rows], color=style["color"], alpha=0.15, linewidth=0)
            axes.plot(turns, [row.calls for row in rows], label=results.arm(name).label, linewidth=2, **style)
        axes.set(xlabel="Turn", ylabel="Calls in the turn, mean", ylim=(0, None))
        axes.set_xticks(sorted({row.turn for rows in known.values() for row in rows}))
        axes.legend()
    return output.getvalue()


def redundancy(results: Results, curves: Rows) -> str | None:
    """e and the share of redundant calls of each arm, under both scopes of the history."""
    panels = (("Tool efficiency e (%)", "efficiency"), ("Redundant calls (%)", "redundancy"))
    shown = [arm for arm in results.arms if any(f"{key}{end}" in arm.figures for _, key in panels for end in ("", "_call"))]
    if not shown:
        return None
    with drawn(10, 1.4 + 0.45 * len(shown)) as (figure, output):
        for place, (title, key) in enumerate(panels, 1):
            axes = figure.add_subplot(1, 2, place)
            for height, arm in enumerate(reversed(shown)):
                _scope(axes, height + 0.12, arm, key, "history by turn", BLUE, "o")
                _scope(axes, height - 0.12, arm, f"{key}_call", "history by call", ORANGE, "s")
            axes.set_yticks(range(len(shown)), [arm.label for arm in reversed(shown)] if place == 1 else [""] * len(shown))
            axes.set_title(title)
            axes.margins(y=0.2)
        _legend(figure)
    return output.getvalue()


def _scope(axes: Axes, height: float, arm: ArmResult, metric: str, name: str, colour: str, marker: str) -> None:
    found = arm.figures.get(metric)
    if found is None:
        return
    low, high = (found.estimate if bound is None else bound for bound in (found.low, found.high))
    axes.plot([100 * low, 100 * high], [height, height], color=colour, linewidth=2)
    axes.plot(100 * found.estimate, height, marker, color=colour, label=name)


def training(results: Results, curves: Rows) -> str | None:
    """Every kept column of the reinforcement curves by step, a line per arm with its range over seeds."""
    rows = [row for row in curves if row["stage"] != "sft"]
    keys = [key for key in CURVES if key != "loss" and any(key in row for row in rows)]
    return _panels(results, rows, keys, "GRPO step")


def tool_success(results: Results, curves: Rows) -> str | None:
    """Tool success of the rollouts by step (ToolTrain figure 4)."""
    rows = [row for row in curves if row["stage"] != "sft" and "tool_success" in row]
    return _panels(results, rows, ["tool_success"] if rows else [], "GRPO step")


def sft_loss(results: Results, curves: Rows) -> str | None:
    """Loss of SFT by step."""
    rows = [row for row in curves if row["stage"] == "sft" and "loss" in row]
    return _panels(results, rows, ["loss"] if rows else [], "SFT step")


def _panels(results: Results, rows: Rows, keys: Sequence[str], step: str) -> str | None:
    if not keys:
        return None
    across, down = min(2, len(keys)), (len(keys) + 1) // 2
    with drawn(5 * across + (2 if across == 1 else 0), 2.7 * down + 0.4) as (figure, output):
        for place, key in enumerate(keys, 1):
            axes = figure.add_subplot(down, across, place)
            for name, style in lines(arm.name for arm in results.arms).items():
                _line(axes, [row for row in rows if row["arm"] == name and key in row], key, results.arm(name).label, style)
            axes.set(title=CURVES[key], xlabel=step)
        _legend(figure)
    return output.getvalue()


def _line(axes: Axes, rows: Rows, key: str, label: str, style: Mapping[str, Any]) -> None:
    """The centred mean over a tenth of the run, in the band of the seeds' extremes smoothed alike."""
    if not rows:
        return
    steps = [row["step"] for row in rows]
    low, mean, high = (_smooth([row[name] for row in rows]) for name in (f"{key}_low", key, f"{key}_high"))
    axes.fill_between(steps, low, high, color=style["color"], alpha=0.15, linewidth=0)
    axes.plot(steps, mean, label=label, linewidth=2, **style)


def _smooth(values: Sequence[float]) -> list[float]:
    half = len(values) // 20
    windows = [values[max(0, place - half) : place + half + 1] for place in range(len(values))]
    return [sum(window) / len(window) for window in windows]


def _legend(figure: Any) -> None:
    """One entry per name over all panels, above them."""
    entries = {name: handle for axes in figure.axes for handle, name in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(entries.values(), entries.keys(), loc="outside upper center", ncols=min(4, max(1, len(entries))))


FIGURES: dict[str, tuple[str, Callable[[Results, Rows], str | None]]] = {
    "arms": ("The primary metric by arm, with 95% intervals over instances and seeds", arms),
    "differences": ("What the claims compare, with 95% intervals", differences),
    "calls_by_turn": ("Calls of tool-using turns by turn index; bands are the range over seeds", calls_by_turn),
    "redundancy": ("Tool efficiency and redundant calls under both scopes of the history", redundancy),
    "training": ("Reinforcement by step, smoothed over a tenth of the run; bands are the range over seeds", training),
    "tool_success": ("Share of calls without an error in the rollouts, by step", tool_success),
    "sft_loss": ("Loss of SFT by step", sft_loss),
}
"""By the names that `figures` in an experiment's YAML takes: caption, and what draws it."""
