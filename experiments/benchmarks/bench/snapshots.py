"""The cost of a snapshot beside that of a checkout.

Lays out commits spread evenly over the first-parent history of this repository, each in turn by ``SnapshotStore.repository`` and
by ``git worktree add --detach``, from one new ``git clone --bare --shared``. The first of the two alternates. Time is wall time.
Disk is what ``du`` counts: the blocks of every inode, once for a file with several names; git's index of a work tree belongs to
the work tree.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from experiments.benchmarks.bench.rows import Goal, Measure, Say, silent
from fusesearch.search.git import git_command, git_environment
from fusesearch.search.snapshots import SnapshotStore

GOAL = Goal("<=", 1 / 3)
NO_LIMIT = 10**15


def measure(quick: bool = False, say: Say = silent) -> list[Measure]:
    """Time and disk for 100 commits of this project's own repository."""
    say("work trees beside snapshots")
    with tempfile.TemporaryDirectory(prefix="snapshots-") as scratch:
        return measure_repository(Path(), 5 if quick else 100, Path(scratch))


def measure_repository(repo: Path, count: int, scratch: Path) -> list[Measure]:
    """Time and disk of both ways for ``count`` commits of ``repo``, laid out below ``scratch``."""
    bare = scratch / "repo.git"
    _git(Path("."), "clone", "--quiet", "--bare", "--shared", "--", str(repo.resolve()), str(bare))
    history = _git(bare, "rev-list", "--first-parent", "HEAD").split()
    count = min(count, len(history))
    store = SnapshotStore(scratch / "cache", limit=NO_LIMIT)
    before = disk_bytes(bare)
    seconds = [0.0, 0.0]
    for number in range(count):
        commit = history[number * len(history) // count]
        ways: list[Callable[[], object]] = [
            partial(store.repository, bare, commit),
            partial(_git, bare, "worktree", "add", "--quiet", "--detach", str(scratch / "worktrees" / commit), commit),
        ]
        for way in (0, 1) if number % 2 else (1, 0):
            start = time.perf_counter()
            ways[way]()
            seconds[way] += time.perf_counter() - start
    ours, theirs = disk_bytes(store.cache_dir), disk_bytes(scratch / "worktrees") + disk_bytes(bare) - before
    commits = f"{count} commits of this repository"
    times = f"{commits}: {seconds[0]:.1f} s, work trees {seconds[1]:.1f} s"
    disk = f"{commits}: {ours / 1e6:.0f} MB, work trees {theirs / 1e6:.0f} MB"
    return [
        Measure("snapshots / git worktree add, time", seconds[0] / seconds[1], goal=GOAL, detail=times),
        Measure("snapshots / git worktree add, disk", ours / theirs, goal=GOAL, detail=disk),
    ]


def disk_bytes(folder: Path) -> int:
    """Blocks of every inode in ``folder``, in bytes, as ``du`` counts."""
    sizes = {}
    for parent, folders, files in os.walk(folder):
        for name in (".", *folders, *files):
            status = os.lstat(f"{parent}/{name}")
            sizes[status.st_ino] = status.st_blocks * 512
    return sum(sizes.values())


def _git(git_dir: Path, *arguments: str) -> str:
    command = ["git", *arguments] if arguments[0] == "clone" else git_command(git_dir, *arguments)
    return subprocess.run(command, env=git_environment(), capture_output=True, text=True, check=True).stdout
