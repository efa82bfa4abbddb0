"""Runs of mining: without faults, or with faults in some answers and kills at random points."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.core.storage import read_json, write_json
from tests.fakes.github_server.faults import Faults
from tests.fakes.github_server.history import write_world
from tests.fakes.github_server.server import Counts, GitHubServer
from tests.fakes.github_server.world import World, make_world

POLL_SECONDS = 0.01


@dataclass
class Run:
    """A run's pairs (a digest each), the server's counts, and the number of kills."""

    digests: dict[str, str]
    rows: int
    counts: Counts
    faults: int
    kills: int
    seconds: float
    table: dict[str, Any]


def build(seed: int, repositories: int, pulls: int, share: float, folder: Path) -> World:
    """The world and its repositories under ``folder/git``."""
    world = make_world(seed, repositories, pulls, share)
    write_world(world, folder / "git")
    return world


def run(world: World, git_root: Path, folder: Path, faults: Faults, kills: list[int], workers: int) -> Run:
    """Mine ``world`` in its own process, killed at each number of requests in ``kills``."""
    folder.mkdir(parents=True)
    github = GitHubServer(world, git_root, faults, limit=10**6)
    started = time.perf_counter()
    with github.running():
        config = {"repositories": list(world.repositories), "api_url": github.url, "clone_url": github.clone_url,
                  "retry_seconds": 0.01}  # fmt: skip
        write_json(folder / "job.json", {"folder": str(folder), "config": config, "workers": workers})
        environment = {**os.environ, "GITHUB_TOKEN": min(github.tokens)}
        killed = sum(_until(github, at, folder, environment) for at in kills)
        subprocess.run(_command(folder), env=environment, check=True)
    rows = [json.loads(line) for line in (folder / "pairs.jsonl").read_text(encoding="utf-8").split("\n") if line]
    digests = {row["instance_id"]: hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest() for row in rows}
    table = read_json(folder / "table.json")
    return Run(digests, len(rows), github.counts, sum(faults.drawn.values()), killed, time.perf_counter() - started, table)


def kill_points(seed: int, requests: int, times: int) -> list[int]:
    """Numbers of requests at which to kill a run of about ``requests``."""
    return sorted(random.Random(seed).sample(range(1, max(times + 1, requests)), times))


def _until(github: GitHubServer, at: int, folder: Path, environment: dict[str, str]) -> int:
    """Run until the server has had ``at`` requests in all, then kill; 0 if the run ended before."""
    process = subprocess.Popen(_command(folder), env=environment, start_new_session=True)
    while process.poll() is None:
        if github.counts.graphql + github.counts.rest >= at:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return 1
        time.sleep(POLL_SECONDS)
    return 0


def _command(folder: Path) -> list[str]:
    return [sys.executable, "-m", "tests.trials.mining.miner", str(folder / "job.json")]
