"""One instance as one localizer or two searched it: figures, calls with their gain, truth that was found, every turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from dashboards import charts
from dashboards.content.blocks import Block, Columns, Frame, Heading, Notice, Plot, Printed, Quote, Text
from dashboards.reading import episodes
from dashboards.reading.episodes import Source
from tasks.core.errors import FusesearchError
from tasks.core.schema import Trajectory, Truth
from tasks.evaluation.metrics import score_trajectory, tool_statistics
from tasks.reporting.episodes.page import Page, page_of
from tasks.reporting.episodes.rendering import render
from tasks.reporting.table import Row, Table

FIGURES = {
    "f1": "F1 (0.7 file + 0.3 function)",
    "file_f1": "File F1",
    "function_f1": "Function F1",
    "efficiency": "e, history by turn",
    "efficiency_call": "e, history by call",
    "turns": "Turns",
    "calls": "Calls",
    "calls_per_turn": "Calls per searching turn",
    "failed_calls": "Failed calls",
    "tokens_billed": "Tokens billed",
    "seconds": "Seconds",
}


@dataclass(frozen=True)
class Shown:
    """An episode with the name of its source, its page, and its figures; those of quality only where the truth is known.

    ``lacks`` says why the truth is not known, "" where it is.
    """

    name: str
    trajectory: Trajectory
    page: Page
    figures: Mapping[str, Any]
    lacks: str


def open_episode(source: Source, instance_id: str, run: int = 1, name: str = "") -> Shown:
    """Read one episode and work out its page. Raises :class:`ArtifactError` where it is not there."""
    trajectory = episodes.read_episode(source, instance_id, run)
    truth, lacks = _truth(source, instance_id)
    figures = score_trajectory(trajectory, truth).model_dump() if truth else tool_statistics(trajectory)
    return Shown(name or source.label, trajectory, page_of(trajectory, truth), figures, lacks)


def trajectories_page(chosen: Sequence[tuple[Source, int]], instance_id: str, side_by_side: bool = True) -> list[Block]:
    """The page of an instance: sources, each with the number of its run; one that cannot be read hides no other."""
    shown: list[Shown] = []
    faults: list[Notice] = []
    for place in range(len(chosen)):
        try:
            shown.append(_named(chosen, place, instance_id))
        except FusesearchError as error:
            faults.append(Notice(str(error)))
    return [*dict.fromkeys(faults), *(_page(shown, side_by_side) if shown else [])]


def _named(chosen: Sequence[tuple[Source, int]], place: int, instance_id: str) -> Shown:
    source, run = chosen[place]
    name = f"{source.label}, episode {run}" if len(episodes.index(source).offsets.get(instance_id, ())) > 1 else source.label
    twins = sum(other == chosen[place] for other in chosen) > 1
    return open_episode(source, instance_id, run, f"{'AB'[place]}: {name}" if twins else name)


def _page(shown: Sequence[Shown], side_by_side: bool) -> list[Block]:
    first = shown[0]
    blocks: list[Block] = [Quote("Issue", first.trajectory.issue), *_failures(shown), Printed(_figures(shown))]
    if first.page.truth is None:
        blocks.append(Notice(first.lacks, "note"))
    else:
        blocks.append(Printed(_found(shown)))
    blocks += _calls(shown)
    frames: list[Block] = [Frame(render(part.page), f"Episode: {part.name}") for part in shown]
    blocks.append(Heading("Every turn"))
    return blocks + ([Columns([[frame] for frame in frames])] if side_by_side and len(frames) > 1 else frames)


def _failures(shown: Sequence[Shown]) -> list[Block]:
    return [
        Notice(f"{part.name}: the infrastructure failed, so there is no score ({part.trajectory.error})", "note")
        for part in shown
        if part.trajectory.error is not None
    ]


def _figures(shown: Sequence[Shown]) -> Table:
    rows = [Row([name, *(_figure(part.figures.get(key)) for part in shown)]) for key, name in FIGURES.items()]
    rows.append(Row(["Ended because", *(part.page.stop for part in shown)]))
    return Table("Figures of the episode", ["Figure", *(part.name for part in shown)], rows)


def _figure(value: int | float | None) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return "–" if value is None or not isfinite(value) else f"{value:.2f}"  # noqa: RUF001


def _found(shown: Sequence[Shown]) -> Table:
    """The truth, and for each episode which call first showed it and its place in the answer."""
    entities = [wanted.entity for wanted in shown[0].page.truth or ()]
    columns = [{wanted.entity: wanted for wanted in part.page.truth or ()} for part in shown]
    rows = [Row([entity, *(_hit(column.get(entity)) for column in columns)]) for entity in entities]
    return Table("What the patch modifies, and who found it", ["Truth", *(part.name for part in shown)], rows)


def _hit(wanted: Any) -> str:
    if wanted is None:
        return "–"  # noqa: RUF001
    seen = f"first shown by call {wanted.first.call}" if wanted.first else "never shown"
    return f"✓ answered, place {wanted.rank}; {seen}" if wanted.rank else f"✗ not answered; {seen}"


def _calls(shown: Sequence[Shown]) -> list[Block]:
    rows = [row for part in shown for row in _cells(part)]
    if not rows:
        return [Text("No call was made.")]
    names = [part.name for part in shown]
    said = "; ".join(f"{name}: {sum(row['episode'] == name for row in rows)} calls" for name in names)
    caption = (
        "Calls of a turn run at once and stand above one another. Number and colour are the gain: the share of what the call "
        "returned that no earlier turn had shown. A diamond: the first call to show some of the truth."
    )
    return [Plot(charts.calls(rows, names), caption, f"Calls by turn with their gain; {said}.")]


def _cells(part: Shown) -> list[dict[str, Any]]:
    return [
        {
            "episode": part.name,
            "turn": turn.number,
            "call": place,
            "gain": _share(card.gain),
            "text": card.gain,
            "tool": f"{card.tool} {' '.join(f'{name}={value}' for name, value in card.arguments)}"[:200],
            "truth": ", ".join(card.new),
        }
        for turn in part.page.turns
        for place, card in enumerate(turn.cards, 1)
    ]


def _share(gain: str) -> float:
    return float(gain.rstrip("%")) / 100 if gain.endswith("%") else 0.0


def _truth(source: Source, instance_id: str) -> tuple[Truth | None, str]:
    """The truth of an instance, or why it is not at hand."""
    try:
        truth = episodes.truth_of(source, instance_id)
    except FusesearchError as error:
        return None, str(error)
    if truth is None or not truth.files:
        return None, "The truth of this instance is not at hand: run `dvc repro split`"
    return truth, ""


def ordered(instances: Sequence[str], first: Mapping[str, float], second: Mapping[str, float], by: str) -> list[str]:
    """Instances by id, by how far one F1 is from the other (``difference``), or the first's worst first (``worst``).

    Those without the F1 that counts come last.
    """
    if by == "difference":
        return sorted(instances, key=lambda i: (-abs(first[i] - second[i]) if i in first and i in second else 1.0, i))
    if by == "worst":
        return sorted(instances, key=lambda i: (first.get(i, 2.0), i))
    return sorted(instances)
