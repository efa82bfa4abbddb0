"""Folders of caches, all of which can be deleted at any time: the user's, a checkout's, or those that a caller names."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

IN_CHECKOUT = Path(".fusesearch")
"""What a checkout keeps on this machine: its caches, the progress of running stages, records. Neither DVC nor git tracks it."""


def user_folder() -> Path:
    """``fusesearch`` in ``XDG_CACHE_HOME`` or ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "fusesearch"


@dataclass(frozen=True)
class Caches:
    """The caches below one folder, by default the user's."""

    folder: Path = field(default_factory=user_folder)

    @property
    def snapshots(self) -> Path:
        """Snapshots of commits, and clones."""
        return self.folder / "snapshots"

    @property
    def index(self) -> Path:
        """The ranker's index."""
        return self.folder / "index"
