"""What a run was made from: git and DVC revision."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tasks.core.digests import file_digest
from tasks.pipeline.layout import ARTIFACTS, RESULT_FILES

DVC_LOCK = Path("dvc.lock")
_RESULTS = [f"experiments/*/{name}{inside}" for name in RESULT_FILES for inside in ("", "/*")]
_WRITTEN = [DVC_LOCK, "experiments/dvc.lock", "experiments/RESULTS.md", ARTIFACTS, *_RESULTS]
SOURCES = (".", *(f":(exclude){path}" for path in _WRITTEN))
"""What counts as the project's own content: not what a running reproduction or experiment itself writes."""


def revision_tags() -> dict[str, str]:
    """Commit, whether files differ from it, and the digest of ``dvc.lock``."""
    dirty = bool(git("status", "--porcelain", "--", *SOURCES))
    tags = {"git.revision": git("rev-parse", "HEAD") or "none", "git.dirty": str(dirty).lower()}
    tags["dvc.revision"] = file_digest(DVC_LOCK) if DVC_LOCK.exists() else "none"
    return tags


def git(*arguments: str) -> str:
    """Output of a git command, empty outside a repository."""
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, errors="replace", check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
