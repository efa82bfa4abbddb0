"""Scores and calls as tables and figures take them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fusesearch.core.schema import Score
from fusesearch.reporting.table import ARMS


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
