"""What a published answer says, before anything is looked up: files and names in rank order, as they were written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from tasks.code.names import MAX_TEXT, Claim

MAX_CLAIMS = 5_000
"""Files, and names, read of one answer; what stands behind them is cut."""


@dataclass(frozen=True)
class Published:
    """The answer to one instance: ``files`` and ``claims`` most likely first; ``modules`` where the format has them."""

    instance_id: str
    files: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    modules: tuple[str, ...] = ()


def answer(instance_id: str, files: Iterable[str] = (), claims: Iterable[Claim] = (), modules: Iterable[str] = ()) -> Published:
    """A :class:`Published` with its parts cut to the limits."""
    return Published(
        instance_id, tuple(clip(path) for path in islice(files, MAX_CLAIMS)), tuple(islice(claims, MAX_CLAIMS)),
        tuple(clip(name) for name in islice(modules, MAX_CLAIMS)),
    )  # fmt: skip


def clip(text: str) -> str:
    """``text`` cut to the limit."""
    return text[:MAX_TEXT]
