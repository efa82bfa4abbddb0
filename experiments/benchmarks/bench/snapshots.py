"""The cost of a snapshot beside that of a checkout.

``python -m experiments.benchmarks.bench.snapshots --repo GITDIR`` measures any repository.

Lays out commits spread evenly over the first-parent history of a local repository, each in turn by
``SnapshotStore.repository`` and by ``git worktree add --detach``, from one new ``git clone --bare --shared``. The first of the
two alternates. Time is wall time. Disk is what ``du`` counts: the blocks of every inode, once for a file with several names;
git's index of a work tree belongs to the work tree.

``clone_bytes`` is a partial clone over ``file://`` with the blobs of all these commits. The projection takes the mean over the
repositories (``--repo`` may be repeated) and assumes that 21,000 instances spread over 233 repositories as these commits do:
about 90 commits each, over the whole history, none evicted, plus one such clone per repository.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

from rich.console import Console
from rich.table import Table

from experiments.benchmarks.bench.rows import Goal, Row, Say, silent
from tasks.search.clones import open_clone
from tasks.search.git import Git, git_command, git_environment
from tasks.search.snapshots import SnapshotStore

INSTANCES = 21_000
REPOSITORIES = 233
TARGET = 1 / 3

_NO_LIMIT = 10**15


def measure(quick: bool = False, say: Say = silent) -> list[Row]:
    """Time and disk for 100 commits of this project's own repository."""
    say("work trees beside snapshots")
    with tempfile.TemporaryDirectory(prefix="snapshots-") as scratch:
        row = measure_repository(Path(), 5 if quick else 100, Path(scratch))
    commits = f"{row['commits']} commits of this repository"
    seconds = f"{row['snapshot_seconds']:.1f} s, work trees {row['worktree_seconds']:.1f} s"
    megabytes = f"{row['snapshot_bytes'] / 1e6:.0f} MB, work trees {row['worktree_bytes'] / 1e6:.0f} MB"
    goal = Goal("<=", TARGET)
    return [
        Row("snapshots / git worktree add, time", row["time_ratio"], goal=goal, detail=f"{commits}: {seconds}"),
        Row("snapshots / git worktree add, disk", row["disk_ratio"], goal=goal, detail=f"{commits}: {megabytes}"),
    ]


def measure_repository(repo: Path, commits: int, scratch: Path) -> dict[str, Any]:
    """Seconds and bytes of both ways for ``commits`` commits of ``repo``, laid out below ``scratch``."""
    bare = scratch / "repo.git"
    _git(Path("."), "clone", "--quiet", "--bare", "--shared", "--", str(repo.resolve()), str(bare))
    _git(bare, "config", "uploadpack.allowFilter", "true")
    ids = _spread(_git(bare, "rev-list", "--first-parent", "HEAD").split(), commits)
    store = SnapshotStore(scratch / "cache", limit=_NO_LIMIT)
    before = disk_bytes(bare)
    ours, theirs = _lay_out(store, bare, ids, scratch / "worktrees")
    return {
        "repo": repo.resolve().parent.name if repo.name in ("repo", ".git") else repo.name,
        "commits": len(ids),
        "snapshot_seconds": ours,
        "worktree_seconds": theirs,
        "time_ratio": ours / theirs,
        "snapshot_bytes": (kept := disk_bytes(store.cache_dir)),
        "worktree_bytes": (checked_out := disk_bytes(scratch / "worktrees") + disk_bytes(bare) - before),
        "disk_ratio": kept / checked_out,
        "clone_bytes": _clone_bytes(bare, ids, scratch / "remote"),
    }


def project(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Bytes of all instances, and their parts: one snapshot, one clone."""
    snapshot = mean(row["snapshot_bytes"] / row["commits"] for row in rows)
    clone = mean(row["clone_bytes"] for row in rows)
    total = INSTANCES * snapshot + REPOSITORIES * clone
    return {"snapshot_bytes": snapshot, "clone_bytes": clone, "instance_bytes": total / INSTANCES, "total_bytes": total}


def disk_bytes(folder: Path) -> int:
    """Blocks of every inode in ``folder``, in bytes, as ``du`` counts."""
    sizes = {}
    for parent, folders, files in os.walk(folder):
        for name in (".", *folders, *files):
            status = os.lstat(f"{parent}/{name}")
            sizes[status.st_ino] = status.st_blocks * 512
    return sum(sizes.values())


def _lay_out(store: SnapshotStore, bare: Path, ids: list[str], worktrees: Path) -> tuple[float, float]:
    """Total seconds of snapshots, and of work trees."""
    seconds = [0.0, 0.0]
    for number, commit in enumerate(ids):
        ways: list[Callable[[], object]] = [
            partial(store.repository, bare, commit),
            partial(_git, bare, "worktree", "add", "--quiet", "--detach", str(worktrees / commit), commit),
        ]
        for way in (0, 1) if number % 2 else (1, 0):
            start = time.perf_counter()
            ways[way]()
            seconds[way] += time.perf_counter() - start
    return seconds[0], seconds[1]


def _clone_bytes(bare: Path, ids: list[str], cache_dir: Path) -> int:
    SnapshotStore(cache_dir, limit=_NO_LIMIT)
    with open_clone(bare.resolve().as_uri(), cache_dir) as clone:
        for commit in ids:
            with Git(clone.git_dir) as git:
                tree_id = git.resolve(commit)[1]
                clone.fetch_blobs(tree_id, {entry.blob for entry in git.entries(tree_id)})
        return disk_bytes(clone.git_dir)


def _spread(history: list[str], commits: int) -> list[str]:
    """``commits`` of the newest-first ``history``, evenly spread, oldest first."""
    number = min(commits, len(history))
    return [history[index * len(history) // number] for index in reversed(range(number))]


def _git(git_dir: Path, *arguments: str) -> str:
    command = ["git", *arguments] if arguments[0] == "clone" else git_command(git_dir, *arguments)
    done = subprocess.run(command, env=git_environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"git {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout


def _print(rows: list[dict[str, Any]], console: Console) -> None:
    heads = ("repository", "n", "ms", "worktree", "ratio", "MB", "worktrees", "ratio", "clone")
    table = Table(*heads, title=f"ms for each, MB of all n; ratios are to be at most {TARGET:.2f}")
    for row in rows:
        per_commit = [1e3 * row[name] / row["commits"] for name in ("snapshot_seconds", "worktree_seconds")]
        megabytes = [row[name] / 1e6 for name in ("snapshot_bytes", "worktree_bytes", "clone_bytes")]
        table.add_row(
            row["repo"], str(row["commits"]), f"{per_commit[0]:.1f}", f"{per_commit[1]:.1f}", f"{row['time_ratio']:.2f}",
            f"{megabytes[0]:.1f}", f"{megabytes[1]:.1f}", f"{row['disk_ratio']:.2f}", f"{megabytes[2]:.1f}",
        )  # fmt: skip
    console.print(table)
    figures = project(rows)
    console.print(
        f"{INSTANCES:,} instances of {REPOSITORIES} repositories: {figures['total_bytes'] / 1e9:.1f} GB, "
        f"{figures['instance_bytes'] / 1e6:.2f} MB for each ({figures['snapshot_bytes'] / 1e6:.2f} MB a snapshot, "
        f"{figures['clone_bytes'] / 1e6:.1f} MB a clone)"
    )


def main() -> None:
    """Measure and print the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", type=Path, action="append", required=True, help="a local git repository; may be repeated")
    parser.add_argument("--commits", type=int, default=100, help="commits of each repository (100)")
    options = parser.parse_args()
    rows = []
    for repo in options.repo:
        with tempfile.TemporaryDirectory(prefix="snapshots-") as scratch:
            rows.append(measure_repository(repo, options.commits, Path(scratch)))
    _print(rows, Console())


if __name__ == "__main__":
    main()
