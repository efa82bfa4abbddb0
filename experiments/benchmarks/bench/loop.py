"""The loop: many scripted episodes at once, against their tool calls alone, TRL's own loop, and a peer's harness.

The model answers at once, so the times are those of the loop and the tools. The tools are real and remember nothing. All
sides make the same calls on the same tree.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from experiments.benchmarks.bench.episodes import Episode, copy_of, make_episodes, scripted, size_of
from experiments.benchmarks.bench.loop_peer import INSTALL, NAME, Peer
from experiments.benchmarks.bench.rows import Goal, Row, Say, Side, interleave, milliseconds, ratio_row, silent
from tasks.agents import loop
from tasks.agents.models.base import Sampling
from tasks.agents.toolsets import FUSESEARCH
from tasks.core.config import Agent
from tasks.core.schema import Trajectory
from tasks.search.repository import Repository
from tasks.search.tools import Toolbox

PACKAGE = "networkx"
EPISODES = 256
OURS, ALONE, TRL = "fusesearch", "tools alone", "TRL"


def measure(quick: bool = False, say: Say = silent) -> list[Row]:
    """256 episodes at once on each side."""
    with copy_of(PACKAGE) as root:
        return measure_on(root, 16 if quick else EPISODES, 2 if quick else 7, say)


def measure_on(root: Path, count: int, repeats: int, say: Say = silent, *, others: bool = True) -> list[Row]:
    """The rows for ``count`` episodes on the tree below ``root``; without ``others`` only the loop and its tools."""
    repository = Repository(root)
    episodes = make_episodes(repository, count)
    with ExitStack() as stack:
        runner = stack.enter_context(asyncio.Runner())
        peer = stack.enter_context(Peer(root, episodes)) if others and Peer.is_installed() else None
        box = Toolbox(repository, memory_bytes=0)
        repository.search_flags()
        sides: dict[str, Side] = {
            OURS: lambda: runner.run(_ours(box, episodes)),
            ALONE: lambda: runner.run(_alone(box, episodes)),
        }
        if others and find_spec("trl"):
            say("TRL is loading")
            from experiments.benchmarks.bench.loop_trl import TrlLoop

            sides[TRL] = TrlLoop(Toolbox(repository, memory_bytes=0), episodes).run
        if peer:
            say(f"{peer.name} is looking for its best number of workers")
            peer.choose_workers()
            sides[peer.name] = peer.run
        taken = interleave(sides, repeats, lambda line: say(f"{count} episodes at once: {line}"))
        rows = [_own_row(taken, count, size_of(root)), _remembered_row(repository, episodes, runner, repeats)]
        rows += _trl_row(taken) if TRL in taken else []
        return rows + (_peer_row(peer, taken) if others else [])


def _own_row(taken: dict[str, list[float]], count: int, size: str) -> Row:
    ours, alone = taken[OURS], taken[ALONE]
    detail = f"{PACKAGE}, {size}; {count} episodes of 6 calls in {milliseconds(ours)}, the calls alone {milliseconds(alone)}"
    return ratio_row("episodes / their tool calls alone", ours, alone, Goal("<=", 1.2), detail)


def _remembered_row(repository: Repository, episodes: Sequence[Episode], runner: asyncio.Runner, repeats: int) -> Row:
    """The loop's own time: all calls are answered from memory."""
    box = Toolbox(repository, memory_bytes=1 << 30)
    taken = interleave({OURS: lambda: runner.run(_ours(box, episodes))}, repeats)[OURS]
    each = sorted(1000 * seconds / len(episodes) for seconds in taken)
    return Row(
        "the loop's own milliseconds per episode", each[len(each) // 2], each[0], each[-1], None,
        "every call answered from memory: prompts, parsing, gain, records",
    )  # fmt: skip


def _trl_row(taken: dict[str, list[float]]) -> list[Row]:
    ours, theirs = taken[OURS], taken[TRL]
    detail = f"{milliseconds(theirs)} against {milliseconds(ours)}; its time between text and token ids is left out"
    return [ratio_row("TRL's own tool loop / ours", theirs, ours, Goal(">=", 1.0), detail)]


def _peer_row(peer: Peer | None, taken: dict[str, list[float]]) -> list[Row]:
    if peer is None:
        return [Row(f"{NAME} / ours", float("nan"), detail=f"not installed: run {INSTALL}")]
    ours, theirs = taken[OURS], taken[peer.name]
    detail = f"{milliseconds(theirs)} with {peer.workers} workers (its best of {peer.tried}) against {milliseconds(ours)}"
    return [ratio_row(f"{peer.name} / ours", theirs, ours, Goal(">=", 1.0), detail)]


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
