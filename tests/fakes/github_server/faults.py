"""Faults of answers, in a given order."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Literal, get_args

Fault = Literal["502", "dropped", "cut", "slow"]
KINDS: tuple[Fault, ...] = get_args(Fault)


class Faults:
    """Spoils each answer by the next one ``to_come``; None leaves it whole. Safe for several threads."""

    def __init__(self, to_come: Iterable[Fault | None] = ()) -> None:
        self.to_come = list(to_come)
        self._lock = threading.Lock()

    def draw(self) -> Fault | None:
        """The fault of the next answer, if any."""
        with self._lock:
            return self.to_come.pop(0) if self.to_come else None
