"""The loop: many scripted episodes at once, against their tool calls alone.

The model answers at once, so the times are those of the loop and the tools. The tools are real and remember nothing. Both
sides make the same calls on the same tree.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from experiments.benchmarks.bench.episodes import Episode, copy_of, make_episodes, scripted, size_of
from experiments.benchmarks.bench.rows import Goal, Measure, Say, Side, interleave, milliseconds, ratio_row, silent
from fusesearch.agents import loop
from fusesearch.agents.models.base import Sampling
from fusesearch.agents.specs import FUSESEARCH
from fusesearch.core.config import Agent
from fusesearch.core.schema import Trajectory
from fusesearch.search.repository import Repository
from fusesearch.search.tools import Toolbox

PACKAGE = "networkx"
EPISODES = 256
OURS, ALONE = "fusesearch", "tools alone"


def measure(quick: bool = False, say: Say = silent) -> list[Measure]:
    """256 episodes at once on each side."""
    with copy_of(PACKAGE) as root:
        return measure_on(root, 16 if quick else EPISODES, 2 if quick else 7, say)


def measure_on(root: Path, count: int, repeats: int, say: Say = silent) -> list[Measure]:
    """The rows for ``count`` episodes on the tree below ``root``."""
    repository = Repository(root)
    episodes = make_episodes(repository, count)
    with asyncio.Runner() as runner:
        box = Toolbox(repository, memory_bytes=0)
        repository.search_flags()
        sides: dict[str, Side] = {
            OURS: lambda: runner.run(_ours(box, episodes)),
            ALONE: lambda: runner.run(_alone(box, episodes)),
        }
        taken = interleave(sides, repeats, lambda line: say(f"{count} episodes at once: {line}"))
        return [_own_row(taken, count, size_of(root)), _remembered_row(repository, episodes, runner, repeats)]


def _own_row(taken: dict[str, list[float]], count: int, size: str) -> Measure:
    ours, alone = taken[OURS], taken[ALONE]
    detail = f"{PACKAGE}, {size}; {count} episodes of 6 calls in {milliseconds(ours)}, the calls alone {milliseconds(alone)}"
    return ratio_row("episodes / their tool calls alone", ours, alone, Goal("<=", 1.2), detail)


def _remembered_row(repository: Repository, episodes: Sequence[Episode], runner: asyncio.Runner, repeats: int) -> Measure:
    """The loop's own time: all calls are answered from memory."""
    box = Toolbox(repository, memory_bytes=1 << 30)
    taken = interleave({OURS: lambda: runner.run(_ours(box, episodes))}, repeats)[OURS]
    each = sorted(1000 * seconds / len(episodes) for seconds in taken)
    return Measure(
        "the loop's own milliseconds per episode", each[len(each) // 2], each[0], each[-1], None,
        "every call answered from memory: prompts, parsing, gain, records",
    )  # fmt: skip


async def _ours(box: Toolbox, episodes: Sequence[Episode]) -> float:
    """Seconds for all episodes at once through the project's loop."""
    model, agent, sampling = scripted(list(episodes)), Agent(max_context_tokens=10**6), Sampling()
    instructions = [FUSESEARCH.instruct(agent, episode.instance.problem_statement, None) for episode in episodes]
    made = [
        loop.Episode(episode.instance, box, model, agent, sampling, words, "bench")
        for episode, words in zip(episodes, instructions, strict=True)
    ]
    jobs = [partial(loop.run_episode, episode) for episode in made]
    started = time.perf_counter()
    done = [trajectory async for trajectory in loop.run_episodes(jobs, len(jobs))]
    seconds = time.perf_counter() - started
    _check(done)
    return seconds


async def _alone(box: Toolbox, episodes: Sequence[Episode]) -> float:
    """Seconds for only the calls of all episodes at once, turn by turn."""
    started = time.perf_counter()

    async def turns(episode: Episode) -> None:
        for turn in episode.turns:
            await asyncio.gather(*(box.call(name, arguments) for name, arguments in turn))

    await asyncio.gather(*map(turns, episodes))
    return time.perf_counter() - started


def _check(done: Sequence[Trajectory]) -> None:
    """A comparison counts only if this side did everything."""
    for trajectory in done:
        failed = [seen.error for turn in trajectory.turns for seen in turn.observations if seen.error]
        if trajectory.stop != "answer" or failed:
            raise RuntimeError(f"episode {trajectory.instance_id} ended with {trajectory.stop}: {failed or trajectory.error}")
