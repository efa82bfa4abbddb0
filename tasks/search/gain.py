"""Information gain of tool calls and tool efficiency e (FuseSearch, section 3.2, equations 3 and 4).

Entities are ``path`` (results that list paths) or ``path:line`` (results that show content).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class History:
    """H: every entity that calls of earlier turns returned. A line in H brings its file with it."""

    def __init__(self, seen: Iterable[str] = ()) -> None:
        self._seen = set(seen)

    def __contains__(self, entity: str) -> bool:
        return entity in self._seen

    def __len__(self) -> int:
        return len(self._seen)

    def copy(self) -> History:
        """Another H with the same entities."""
        return History(self._seen)

    def gain(self, observations_of_turn: Sequence[Sequence[str]]) -> list[tuple[float, float]]:
        """``(gain_turn, gain_call)`` of each call of one turn, each in [0, 1]; then fold the turn into H.

        ``observations_of_turn`` holds the entities of each call, in the order of the calls. ``gain_turn`` compares with
        earlier turns alone (the paper's rule), ``gain_call`` also with earlier calls of this turn.
        """
        within: set[str] = set()
        gains = []
        for returned in observations_of_turn:
            entities = set(returned)
            gains.append((_share_new(entities, self._seen), _share_new(entities, self._seen, within)))
            within |= _with_files(entities)
        self._seen |= within
        return gains


def tool_efficiency(gains: Sequence[float]) -> float:
    """e: mean gain over all calls of a trajectory; 0 without calls."""
    return sum(gains) / len(gains) if gains else 0.0


def file_of(entity: str) -> str:
    """The file of an entity: ``a.py`` of ``a.py:12`` and of ``a.py``."""
    path, colon, line = entity.rpartition(":")
    return path if colon and path and line.isascii() and line.isdigit() else entity


def _share_new(entities: set[str], *seen: set[str]) -> float:
    new = entities.difference(*seen)
    return len(new) / len(entities) if entities else 0.0


def _with_files(entities: set[str]) -> set[str]:
    return entities | {file_of(entity) for entity in entities}
