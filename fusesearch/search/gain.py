"""Information gain of tool calls and tool efficiency e (FuseSearch, section 3.2, equations 3 and 4).

Entities are ``path`` (results that list paths) or ``path:line`` (results that show content).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class History:
    """H: every entity that calls of earlier turns returned. A line in H implies its file."""

    def __init__(self, seen: Iterable[str] = ()) -> None:
        self._seen = set(seen)

    def copy(self) -> History:
        """A copy of H."""
        return History(self._seen)

    def gain(self, observations_of_turn: Sequence[Sequence[str]]) -> list[tuple[float, float]]:
        """``(gain_turn, gain_call)`` of each call of one turn, each in [0, 1]. Adds the turn to H.

        ``observations_of_turn`` has the entities of each call, in order. ``gain_turn`` compares with earlier turns only
        (the paper's rule), ``gain_call`` also with earlier calls of this turn.
        """
        within: set[str] = set()
        gains = []
        for returned in observations_of_turn:
            entities = set(returned)
            gains.append((_share_new(entities, self._seen), _share_new(entities, self._seen, within)))
            within |= entities | {file_of(entity) for entity in entities}
        self._seen |= within
        return gains


def tool_efficiency(gains: Sequence[float]) -> float:
    """e: mean gain over all calls of a trajectory; 0 without calls."""
    return sum(gains) / len(gains) if gains else 0.0


def file_of(entity: str) -> str:
    """The file of an entity: ``a.py`` for both ``a.py:12`` and ``a.py``."""
    path, colon, line = entity.rpartition(":")
    return path if colon and path and line.isascii() and line.isdigit() else entity


def _share_new(entities: set[str], *seen: set[str]) -> float:
    new = entities.difference(*seen)
    return len(new) / len(entities) if entities else 0.0
