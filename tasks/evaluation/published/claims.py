"""What a published answer says, before anything is looked up: files and names in rank order, as they were written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

MAX_CLAIMS = 5_000
"""Files, and names, read of one answer; what stands behind them is cut."""

MAX_TEXT = 500
"""Characters kept of one name or path; no real one is as long."""


@dataclass(frozen=True)
class Claim:
    """One place an answer names. ``name`` is empty where the file as a whole, or ``lines``, are meant.

    ``kind`` is what the answer calls it (``function``, ``class``, ``variable``, ``line``, or nothing), ``within`` the class
    that was named just before. ``label`` is the name as the system's own evaluation compares it, empty where it compares none.
    """

    path: str
    name: str = ""
    kind: str = ""
    lines: tuple[int, int] | None = None
    within: str = ""
    label: str = ""

    @property
    def text(self) -> str:
        """How the claim is shown."""
        what = f"lines {self.lines[0]}-{self.lines[1]}" if self.lines else self.name
        return " ".join(part for part in (f"{self.path}::{what}", f"({self.kind})" if self.kind else "") if part)


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
