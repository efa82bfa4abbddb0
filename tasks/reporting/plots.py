"""Plots of the report as SVG text that stands alone: colour-blind-safe colours, and a second cue beside each colour."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

from tasks.reporting.inputs import Candidate
from tasks.reporting.tables import ARMS, BY_KEY, Difference, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Curve = Sequence[Mapping[str, float]]

# Okabe and Ito's palette, with a marker and a dash pattern of its own for each arm
COLOURS = ("#000000", "#E69F00", "#0072B2", "#009E73", "#CC79A7", "#D55E00", "#56B4E9")
SHAPES = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "fusesearch",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "axes.axisbelow": True,
    "legend.frameon": False,
}
CURVES = (
    ("reward", "Mean reward of the rollouts"),
    ("f1", "F1 (0.7 file + 0.3 function)"),
    ("efficiency", "e, history by turn"),
    ("calls_per_turn", "Tool calls per tool-using turn"),
    ("tool_success", "Tool success"),
    ("kl", "KL to the reference policy"),
    ("entropy", "Entropy of the policy"),
)
"""Panels of the GRPO figure: key of the log, heading."""


def training_curves(curves: Mapping[str, Curve]) -> str | None:
    """Reward, F1, e, calls per turn, tool success, KL and entropy by GRPO step, one line per arm; ``None`` without a curve."""
    panels = [(key, title) for key, title in CURVES if any(key in row for rows in curves.values() for row in rows)]
    if not panels:
        return None
    with drawn(10, 2.6 * ((len(panels) + 1) // 2)) as (figure, output):
        for place, (key, title) in enumerate(panels, 1):
            axes = figure.add_subplot((len(panels) + 1) // 2, 2, place)
            for arm, style in lines(curves).items():
                _smoothed(axes, [(row["step"], row[key]) for row in curves[arm] if key in row], arm, style)
            axes.set(title=title, xlabel="GRPO step")
        _legend(figure)
    return output.getvalue()


def loss_curve(rows: Curve) -> str | None:
    """SFT loss by step; ``None`` without one."""
    points = [(row["step"], row["loss"]) for row in rows if "loss" in row]
    if not points:
        return None
    with drawn(7, 3) as (figure, output):
        axes = figure.add_subplot()
        _smoothed(axes, points, "sft", lines(["sft"])["sft"])
        axes.set(xlabel="SFT step", ylabel="Loss on assistant tokens")
        _legend(figure)
    return output.getvalue()


def calls_by_turn(profiles: Mapping[str, Sequence[Mapping[str, float]]], least: int = 5) -> str | None:
    """Calls of tool-using turns by turn index (FuseSearch figure 3); points of fewer than ``least`` episodes are left out."""
    shown = {arm: [row for row in rows if row["episodes"] >= least] for arm, rows in profiles.items()}
    if not any(shown.values()):
        return None
    with drawn(7, 3.6) as (figure, output):
        axes = figure.add_subplot()
        dashes, points = lines(shown), markers(shown)
        for arm, rows in shown.items():
            if rows:
                style = dashes[arm] | points[arm] | {"markersize": 5}
                axes.plot([row["turn"] for row in rows], [row["calls"] for row in rows], label=label(arm), **style)
        axes.set(xlabel="Turn", ylabel="Calls in the turn, mean", ylim=(0, None))
        axes.set_xticks(sorted({row["turn"] for rows in shown.values() for row in rows}))
        axes.legend()
    return output.getvalue()


def candidate_plane(points: Sequence[Candidate], min_f1: float, min_efficiency: float) -> str | None:
    """Candidate trajectories as (F1, e) with the thresholds of selection; area of a dot grows with how many lie there."""
    if not points:
        return None
    groups: dict[bool, Counter[tuple[float, float]]] = {True: Counter(), False: Counter()}
    for f1, e, kept in points:
        groups[kept][round(f1, 2), round(e, 2)] += 1
    with drawn(6.4, 5) as (figure, output):
        axes = figure.add_subplot()
        for kept, name, colour, marker in ((False, "dropped", "#D55E00", "x"), (True, "kept", "#0072B2", "o")):
            places = list(groups[kept])
            sizes = [12 * groups[kept][place] ** 0.5 for place in places]
            axes.scatter(
                [place[0] for place in places], [place[1] for place in places], s=sizes, c=colour, marker=marker,
                alpha=0.6, linewidths=1, label=f"{name} ({groups[kept].total()})",
            )  # fmt: skip
        axes.axvline(min_f1, color="#555555", linestyle="--", linewidth=1, label="thresholds of selection")
        axes.axhline(min_efficiency, color="#555555", linestyle="--", linewidth=1)
        axes.set(xlabel="F1 (0.7 file + 0.3 function)", ylabel="Tool efficiency e", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
        _legend(figure)
    return output.getvalue()


def differences(rows: Sequence[Difference], keys: Sequence[str] = ("f1_macro", "reward")) -> str | None:
    """Paired differences with their intervals, a panel per figure; filled where the interval leaves zero out."""
    shown = {key: [row for row in rows if row.key == key and row.interval] for key in keys}
    if not any(shown.values()):
        return None
    with drawn(10, 1.2 + 0.36 * max(len(found) for found in shown.values())) as (figure, output):
        for place, (key, found) in enumerate(shown.items(), 1):
            axes = figure.add_subplot(1, len(keys), place)
            for height, row in enumerate(reversed(found)):
                _whisker(axes, height, row)
            names = [f"{label(row.first)} − {label(row.second)}" for row in reversed(found)]  # noqa: RUF001
            axes.set_yticks(range(len(found)), names if place == 1 else [""] * len(found))
            axes.axvline(0, color="#555555", linewidth=1)
            axes.set_title(BY_KEY[key].of_differences)
            axes.margins(y=0.15)
        _legend(figure)
    return output.getvalue()


def _whisker(axes: Axes, height: int, row: Difference) -> None:
    found, column = row.interval, BY_KEY[row.key]
    if found is None:
        return
    scale = 100 if column.percent else column.scale
    low, high = (found.estimate if bound is None else bound for bound in (found.low, found.high))
    clear = found.excludes_zero
    axes.plot([low * scale, high * scale], [height, height], color="#0072B2", linewidth=2, alpha=1 if clear else 0.5)
    face, name = ("#0072B2", "interval without zero") if clear else ("white", "interval with zero")
    axes.plot(found.estimate * scale, height, "o", color="#0072B2", markerfacecolor=face, label=name)


def _legend(figure: Figure) -> None:
    """One entry per name over all panels, above them."""
    entries = {name: handle for axes in figure.axes for handle, name in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(entries.values(), entries.keys(), loc="outside upper center", ncols=len(entries))


def _smoothed(axes: Axes, points: Sequence[tuple[float, float]], arm: str, style: Mapping[str, Any]) -> None:
    """The raw points thin, their centred mean over a tenth of the run bold."""
    if not points:
        return
    steps, values = [step for step, _ in points], [value for _, value in points]
    half = len(values) // 20
    windows = [values[max(0, place - half) : place + half + 1] for place in range(len(values))]
    axes.plot(steps, values, color=style["color"], linewidth=0.7, alpha=0.35)
    axes.plot(steps, [sum(window) / len(window) for window in windows], label=label(arm), linewidth=2, **style)


def places(names: Iterable[str]) -> dict[str, tuple[int, int]]:
    """The place of each name's colour, and of its dash pattern and marker.

    Known arms have theirs in every figure. The others take what is free: up to 49 differ in one of the two.
    """
    names, known, size = list(names), list(ARMS), len(COLOURS)
    found = {name: (known.index(name), known.index(name)) for name in names if name in known}
    taken = set(found.values())
    every = ((colour, (colour + turn) % size) for turn in count() for colour in range(size))
    free = (place for place in every if place not in taken)
    return {name: found[name] if name in found else next(free) for name in dict.fromkeys(names)}


def lines(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """How the line of each name is drawn: matplotlib's ``color`` and ``linestyle``."""
    return {name: {"color": COLOURS[colour], "linestyle": DASHES[cue]} for name, (colour, cue) in places(names).items()}


def markers(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """How the points of each name are drawn: matplotlib's ``color`` and ``marker``."""
    return {name: {"color": COLOURS[colour], "marker": SHAPES[cue]} for name, (colour, cue) in places(names).items()}


@contextmanager
def drawn(width: float, height: float) -> Iterator[tuple[Figure, io.StringIO]]:
    """A figure of ``width`` x ``height`` inches; on leaving, its ``<svg>`` element is in the string buffer."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure, output, raw = Figure(figsize=(width, height), layout="constrained"), io.StringIO(), io.StringIO()
        yield figure, output
        figure.savefig(raw, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = raw.getvalue()
    output.write(text[text.index("<svg") :])
