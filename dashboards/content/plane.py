"""The plane of F1 and e: candidate trajectories, two thresholds, and what stays above both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from dashboards.content.blocks import Block, Notice, Plot, Printed, Text, Tile, Tiles
from dashboards.reading import candidates
from dashboards.reading.candidates import Point, Scope
from tasks.reporting import charts
from tasks.reporting.table import Row, Table

STEPS = tuple(step / 10 for step in range(11))
SCOPES: dict[Scope, str] = {"turn": "e, history by turn", "call": "e, history by call"}


def plane_page(root: Path, min_f1: float, min_efficiency: float, scope: Scope = "turn") -> list[Block]:
    """The page under two thresholds."""
    found = candidates.points(root)
    if not found:
        return [Notice("No candidate has a score: run `dvc repro select` after the teacher has searched")]
    return [
        Text(
            "Each mark is a place in the plane where candidates of the teacher lie. What is right of the one line and above the "
            "other stays (FuseSearch equation 5); selection then leaves out word-for-word duplicates and what is over its limit."
        ),
        _tiles(found, min_f1, min_efficiency, scope),
        _plot(found, min_f1, min_efficiency, scope),
        Text(f"Selection as it was run: {_outcomes(found)}."),
        Printed(_grid(found, scope)),
    ]


def _tiles(found: Sequence[Point], min_f1: float, min_efficiency: float, scope: Scope) -> Tiles:
    stays = candidates.left(found, min_f1, min_efficiency, scope)
    known = len({point.instance_id for point in found})
    return Tiles(
        [
            Tile("Candidates that stay", f"{stays.candidates:,}", f"of {len(found):,}"),
            Tile("Share that stays", f"{stays.candidates / len(found):.0%}"),
            Tile("Instances that stay", f"{stays.instances:,}", f"of {known:,}"),
            Tile("Their mean F1", "–" if stays.f1 is None else f"{stays.f1:.3f}"),  # noqa: RUF001
            Tile("Their mean e", "–" if stays.efficiency is None else f"{stays.efficiency:.3f}"),  # noqa: RUF001
        ]
    )


def _plot(found: Sequence[Point], min_f1: float, min_efficiency: float, scope: Scope) -> Plot:
    rows = candidates.places(found, min_f1, min_efficiency, scope)
    stays = sum(int(row["count"]) for row in rows if row["outcome"] == "stays")
    alt = f"Plane of F1 and e with lines at F1 {min_f1:.2f} and e {min_efficiency:.2f}: {stays:,} of {len(found):,} stay."
    chart = charts.plane(rows, min_f1, min_efficiency, SCOPES[scope])
    return Plot(
        chart, "Dashed: the two thresholds. Candidates that named no location go whatever the lines say; their F1 is 0", alt
    )


def _outcomes(found: Sequence[Point]) -> str:
    counts = Counter(point.outcome for point in found)
    return ", ".join(f"{outcome} {count:,}" for outcome, count in counts.most_common())


def _grid(found: Sequence[Point], scope: Scope) -> Table:
    """How many stay for thresholds in tenths: rows by e, columns by F1."""
    header = ["e at least", *(f"F1 ≥ {step:.1f}" for step in STEPS)]
    counts = candidates.grid(found, STEPS, scope)
    rows = [Row([f"{e:.1f}", *(f"{count:,}" for count in line)]) for e, line in zip(STEPS, counts, strict=True)]
    return Table(f"Candidates that stay, by both thresholds ({SCOPES[scope]})", header, rows)
