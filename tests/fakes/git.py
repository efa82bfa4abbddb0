"""Small git repositories."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

IDENTITY = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")


def git(folder: Path, *arguments: str, given: str | None = None) -> str:
    """Run git in a folder, with ``given`` as its input, and return what it printed."""
    command = ["git", *IDENTITY, *arguments]
    done = subprocess.run(command, cwd=folder, input=given, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def write(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files below a folder, and return the folder."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def files_in(text: Path) -> dict[str, str]:
    """Files by path, of a text in which each stands below a line ``==== path``."""
    return dict(part.split("\n", 1) for part in text.read_text().split("==== ")[1:])


def committed(folder: Path, files: Mapping[str, str] | None = None, message: str = "all") -> str:
    """Commit ``files`` and all that the folder holds to a repository there; returns the commit."""
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, files or {})
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message, "--allow-empty")
    return git(folder, "rev-parse", "HEAD")
