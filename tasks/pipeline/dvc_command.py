"""What DVC prints when another process holds what it needs: a stage that was cut off and is about to end, or one at work."""

from __future__ import annotations

from tasks.core.errors import DataError

BUSY = ("it is being blocked by", "Unable to acquire lock", "is already running on these inputs")
PATIENCE, RETRY_SECONDS = 720, 5.0
"""Tries, and the pause between them, worth an hour: a stage that another process runs, or an experiment that reads its files."""


class Busy(DataError):
    """Another process runs a stage, or reads what it made, for longer than was waited."""


def is_busy(said: str) -> bool:
    """Whether DVC, or a stage, refused because another process holds what it needs."""
    return any(words in said for words in BUSY)
