"""The inputs of a reproduction's page: those artifacts of the other stages that exist."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fusesearch.core.errors import ArtifactError
from fusesearch.core.schema import Score, Trajectory
from fusesearch.core.storage import read_csv, read_jsonl
from fusesearch.evaluation.costs import calls_by_turn
from fusesearch.evaluation.results import TRAJECTORIES
from fusesearch.reporting.table import ARMS


@dataclass(frozen=True)
class Sources:
    """Paths of the artifacts. ``cells`` is the folder with the episodes of each arm, ``paper`` the CSV of FuseSearch table 2."""

    scores: Path
    cells: Path
    paper: Path


@dataclass(frozen=True)
class Inputs:
    """The content of the page. Everything but ``scores`` may be empty."""

    scores: list[Score]
    paper: list[dict[str, str]] = field(default_factory=list)
    calls_by_turn: dict[str, list[dict[str, float]]] = field(default_factory=dict)


def read_inputs(sources: Sources) -> Inputs:
    """All artifacts that exist. Raises :class:`ArtifactError` without scores, or if an artifact is corrupt."""
    scores = list(read_jsonl(sources.scores, Score))
    if not scores:
        raise ArtifactError(f"{sources.scores} holds no scores: run the evaluate stage again")
    return Inputs(
        scores=scores,
        paper=read_csv(sources.paper) if sources.paper.exists() else [],
        calls_by_turn={arm: _profile(sources.cells / arm / TRAJECTORIES) for arm in by_arm(scores)},
    )


def by_arm(scores: Iterable[Score]) -> dict[str, list[Score]]:
    """Scores by arm: known arms first, in the order of :data:`~fusesearch.reporting.table.ARMS`."""
    groups: dict[str, list[Score]] = {}
    for score in scores:
        groups.setdefault(score.arm or score.localizer, []).append(score)
    order = [arm for arm in ARMS if arm in groups] + sorted(groups.keys() - ARMS.keys())
    return {arm: groups[arm] for arm in order}


def calls_by_index(episodes: Iterable[Sequence[int]]) -> list[dict[str, float]]:
    """Mean calls of tool-using turns by turn index, from 1 (FuseSearch figure 3), and the number of episodes with such a turn.

    ``episodes`` holds the number of calls of each turn of each episode.
    """
    calls: dict[int, list[int]] = {}
    for turns in episodes:
        for index, number in enumerate(turns, 1):
            if number:
                calls.setdefault(index, []).append(number)
    return [{"turn": index, "calls": sum(found) / len(found), "episodes": len(found)} for index, found in sorted(calls.items())]


def _profile(path: Path) -> list[dict[str, float]]:
    episodes = read_jsonl(path, Trajectory) if path.exists() else ()
    return calls_by_index(calls_by_turn(episode) for episode in episodes if episode.error is None)
