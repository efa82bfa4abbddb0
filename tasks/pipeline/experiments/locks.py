"""Who may run experiments in this working copy, and when."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from tasks.core.errors import ConfigError
from tasks.pipeline.layout import STATE

LOGS = STATE / "experiments"


@contextmanager
def turn() -> Iterator[None]:
    """Waits until nobody else is in such a block: deployments of experiments, of which a schedule may start several at once."""
    LOGS.mkdir(parents=True, exist_ok=True)
    with FileLock(LOGS / ".turn"):
        yield


@contextmanager
def alone() -> Iterator[None]:
    """No other process runs experiments in the block, or writes their stages. It may be entered within itself.

    Raises :class:`ConfigError` at once when one does.
    """
    LOGS.mkdir(parents=True, exist_ok=True)
    lock = FileLock(LOGS / ".lock", is_singleton=True)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise ConfigError("experiments are already running here: wait for them, or stop them") from None
    try:
        yield
    finally:
        lock.release()
