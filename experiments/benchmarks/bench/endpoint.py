"""A failing model endpoint: it drops a third of all requests and answers others late or in part.

A real HTTP server on this machine, the project's own client and loop, real tools. The model behind it is always right,
so an F1 below 1 can only come from the infrastructure.
"""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from experiments.benchmarks.bench.episodes import Episode, copy_of, make_episodes
from experiments.benchmarks.bench.rows import Goal, Row, Say, silent
from tasks.agents.loop import run_episode, run_episodes
from tasks.agents.models.base import Sampling
from tasks.agents.models.openai_compatible import OpenAICompatibleModel
from tasks.agents.toolsets import make_episode
from tasks.core.config import Agent, Tools
from tasks.core.schema import Score, Trajectory, Truth
from tasks.evaluation.metrics import score_trajectory
from tasks.search.repository import Repository
from tests.fakes.local_server import LocalServer

PACKAGE = "toolz"
TIMEOUT_SECONDS = 1.0
FAULTS = {"drop": 1 / 3, "late": 1 / 20, "cut": 1 / 12, "half": 1 / 12}
"""Share of requests: connection closed without an answer; answered after the client's limit; body cut; half a JSON object."""


def measure(quick: bool = False, say: Say = silent) -> list[Row]:
    """Episodes with the client's usual number of retries, and with one retry."""
    with copy_of(PACKAGE) as root:
        return [row for retries in (6, 1) for row in measure_on(root, 16 if quick else 128, retries, say)]


def measure_on(root: Path, count: int, retries: int, say: Say = silent) -> list[Row]:
    """How ``count`` episodes end, and how many got a score for the endpoint's faults."""
    say(f"{count} episodes, {retries} retries")
    repository = Repository(root)
    episodes = make_episodes(repository, count)
    with Faulty(episodes) as endpoint:
        trajectories = asyncio.run(_run(repository, episodes, endpoint, retries))
    scores = [_score(episode, trajectory) for episode, trajectory in zip(episodes, trajectories, strict=True)]
    well = sum(score.error is None and score.f1 == 1 for score in scores)
    errored = sum(score.error is not None and score.f1 is None for score in scores)
    faults = ", ".join(f"{number} {name}" for name, number in sorted(endpoint.served.items()))
    name = f"failing endpoint, {retries + 1} tries"
    return [
        Row(f"{name}: episodes ended well or errored", well + errored, goal=Goal("=", count),
            detail=f"{count} episodes: {well} ended well, {errored} errored; requests: {faults}"),
        Row(f"{name}: scored 0 because of it", len(scores) - well - errored, goal=Goal("=", 0),
            detail="an errored episode has no score at all"),
    ]  # fmt: skip


class Faulty(LocalServer):
    """Plays scripted episodes over HTTP, statelessly, with faults drawn by a seed."""

    def __init__(self, episodes: Sequence[Episode], seed: int = 0, late_seconds: float = 1.5 * TIMEOUT_SECONDS) -> None:
        self.served: Counter[str] = Counter()
        self._replies = {episode.issue: episode.replies for episode in episodes}
        self._late = late_seconds
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        super().__init__(partial(_Handler, self))

    def fault(self) -> str:
        """The fault of the next reply, or ``fine``."""
        with self._lock:
            fault = self._random.choices([*FAULTS, "fine"], [*FAULTS.values(), 1 - sum(FAULTS.values())])[0]
            self.served[fault] += 1
        if fault == "late":
            time.sleep(self._late)
        return fault

    def reply(self, request: dict[str, Any]) -> bytes:
        """The script's next message as a chat completion."""
        messages = request["messages"]
        text = self._replies[messages[1]["content"]][sum(message["role"] == "assistant" for message in messages)]
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
        return json.dumps(body).encode()


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, endpoint: Faulty, *arguments: Any) -> None:
        self._endpoint = endpoint
        super().__init__(*arguments)

    def do_POST(self) -> None:
        """Answer, or fail in one of the ways."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        fault = self._endpoint.fault()
        if fault == "drop":
            self.connection.close()
            return
        body = self._endpoint.reply(request)
        promised = len(body)
        if fault in ("cut", "half"):
            body = body[: promised // 2]
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body) if fault == "half" else promised))
        self.end_headers()
        self.wfile.write(body)
        if fault == "cut":
            self.connection.close()

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


async def _run(repository: Repository, episodes: Sequence[Episode], endpoint: Faulty, retries: int) -> list[Trajectory]:
    """All episodes at once, in their order."""
    agent, sampling = Agent(), Sampling()
    model = OpenAICompatibleModel(
        "m", endpoint.url, tool_format="hermes", retries=retries, timeout_seconds=TIMEOUT_SECONDS, backoff_seconds=0.02
    )
    made = (
        make_episode(episode.instance, repository, model, agent, Tools(), sampling, localizer="bench") for episode in episodes
    )
    jobs = [partial(run_episode, episode) for episode in made]
    try:
        done = [trajectory async for trajectory in run_episodes(jobs, 16)]
    finally:
        await model.close()
    return sorted(done, key=lambda trajectory: int(trajectory.instance_id))


def _score(episode: Episode, trajectory: Trajectory) -> Score:
    """The score, where the script's answer is the truth."""
    entity = episode.answer.rpartition("/repo/")[2].strip()
    return score_trajectory(trajectory, Truth(files=[entity.partition("::")[0]], functions=[entity]))
