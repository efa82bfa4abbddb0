"""The runs: one without faults, one with a fault in one of five answers that is killed at random places."""

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
    """What a run mined, a digest per pair; what the server counted, and how often the run was killed."""

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
    """Mine ``world`` in processes of their own; each of ``kills`` is a number of requests at which the process is killed."""
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
    """At which requests a run of about so many is killed."""
    return sorted(random.Random(seed).sample(range(1, max(times + 1, requests)), times))


def _until(github: GitHubServer, at: int, folder: Path, environment: dict[str, str]) -> int:
    """Run until the server was asked ``at`` times in all, then kill; 0 when it ended before."""
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
