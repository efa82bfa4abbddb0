"""Faults of answers, drawn from a seed."""

from __future__ import annotations

import random
import threading
from typing import Literal, get_args

Fault = Literal[
    "502", "503 json", "500 empty", "dropped", "cut", "half json", "html in 200", "empty 200", "null data", "timeout in 200",
    "403 secondary", "429 retry", "graphql limit", "slow",
]  # fmt: skip
KINDS: tuple[Fault, ...] = get_args(Fault)


class Faults:
    """Spoils ``share`` of the answers. Safe for several threads."""

    def __init__(self, seed: int = 0, share: float = 0.0, kinds: tuple[Fault, ...] = KINDS) -> None:
        self.share = share
        self.kinds = kinds
        self.drawn: dict[str, int] = {}
        self._random = random.Random(seed)
        self._lock = threading.Lock()

    def draw(self) -> Fault | None:
        """The fault of the next answer, if any."""
        with self._lock:
            if self._random.random() >= self.share:
                return None
            fault = self._random.choice(self.kinds)
            self.drawn[fault] = self.drawn.get(fault, 0) + 1
            return fault
