"""Information gain of tool calls and tool efficiency e (FuseSearch, section 3.2, equations 3 and 4).

Entities are ``path`` (results that list paths) or ``path:line`` (results that show content).
"""

from __future__ import annotations

from collections.abc import Sequence, Set

History = frozenset[str]
"""H: every entity that calls of earlier turns returned. A line in H implies its file."""


def gain_of(observations_of_turn: Sequence[Sequence[str]], history: History) -> tuple[list[tuple[float, float]], History]:
    """``(gain_turn, gain_call)`` of each call of one turn, each in [0, 1], and H with the turn.

    ``observations_of_turn`` has the entities of each call, in order. ``gain_turn`` compares with earlier turns only
    (the paper's rule), ``gain_call`` also with earlier calls of this turn.
    """
    within: set[str] = set()
    gains = []
    for returned in observations_of_turn:
        entities = set(returned)
        gains.append((_share_new(entities, history), _share_new(entities, history, within)))
        within |= entities | {file_of(entity) for entity in entities}
    return gains, history | within


def tool_efficiency(gains: Sequence[float]) -> float:
    """e: mean gain over all calls of a trajectory; 0 without calls."""
    return sum(gains) / len(gains) if gains else 0.0


def file_of(entity: str) -> str:
    """The file of an entity: ``a.py`` for both ``a.py:12`` and ``a.py``."""
    path, colon, line = entity.rpartition(":")
    return path if colon and path and line.isascii() and line.isdigit() else entity


def _share_new(entities: set[str], *seen: Set[str]) -> float:
    new = entities.difference(*seen)
    return len(new) / len(entities) if entities else 0.0
