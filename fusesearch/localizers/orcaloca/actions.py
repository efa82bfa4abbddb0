"""Search actions and the queue they wait in (OrcaLoca: priority-based scheduling)."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass

BASIC = 1  # priority of what the model asks for
DECOMPOSED = 2  # of what a result is broken into
RELATED_FILE = 2  # of the file a result is in

MAX_WAITING = 200

ARGUMENTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "search_file_contents": (("file_name",), ("directory_path",)),
    "search_source_code": (("file_path", "source_code"), ()),
    "search_class": (("class_name",), ("file_path",)),
    "search_method_in_class": (("class_name", "method_name"), ("file_path",)),
    "search_callable": (("query_name",), ("file_path",)),
    "search_file_tree": ((), ("name", "max_depth")),
}
"""Required and optional arguments of each action, all text."""


@dataclass(frozen=True)
class Action:
    """One search: its name and its arguments, in the order of :data:`ARGUMENTS`."""

    name: str
    arguments: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, name: str, /, **arguments: str) -> Action:
        """An action; empty arguments are left out."""
        order = [*ARGUMENTS[name][0], *ARGUMENTS[name][1]]
        return cls(name, tuple((key, arguments[key]) for key in order if arguments.get(key)))

    def get(self, key: str) -> str:
        """An argument, or an empty string."""
        return dict(self.arguments).get(key, "")

    @property
    def key(self) -> tuple[str, ...]:
        """Equal for actions that search for the same thing: ``search_callable`` finds classes too."""
        if self.name in ("search_class", "search_callable"):
            return ("definition", self.get("class_name") or self.get("query_name"), self.get("file_path"))
        return (self.name, *(f"{key}={value}" for key, value in self.arguments))

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self.arguments)})"


class Queue:
    """Actions by priority, oldest first among equals. An action enters only once.

    Its priority rises to the number of times it was asked for, if that is higher (the published code's ``resort``).
    """

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, ...], tuple[int, int, Action]] = {}
        self._asked: Counter[tuple[str, ...]] = Counter()
        self._order = 0

    def ask(self, action: Action, priority: int = BASIC) -> None:
        """Count a request for an action and add it if it is new."""
        self._asked[action.key] += 1
        if self._asked[action.key] == 1 and len(self._waiting) < MAX_WAITING:
            self._waiting[action.key] = (priority, self._order, action)
            self._order += 1

    def pop(self) -> Action | None:
        """Remove and return the most urgent action; None if the queue is empty."""
        for action in self.ranked(1):
            del self._waiting[action.key]
            return action
        return None

    def ranked(self, most: int) -> list[Action]:
        """The most urgent actions, in order."""
        waiting = ((-max(priority, self._asked[key]), order, action) for key, (priority, order, action) in self._waiting.items())
        return [action for _, _, action in heapq.nsmallest(most, waiting, key=lambda item: item[:2])]
