"""Grows the tree of one prompt: requests, tools and limits are those of :func:`fusesearch.agents.loop.step`.

RepoSearch-R1's has ``children: 2, expansion: full, self_critique: distil``.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from statistics import pstdev

from fusesearch.agents.conversation import assistant_message, observation_messages
from fusesearch.agents.loop import Episode, State, step
from fusesearch.agents.models.base import Message
from fusesearch.agents.prompts import render
from fusesearch.agents.recording import new_trajectory
from fusesearch.core.config import RolloutSearch
from fusesearch.core.errors import InfrastructureError, RepositoryError
from fusesearch.core.schema import Trajectory
from fusesearch.training.search.tree import Node, back_up, choose, select, weight_at

RewardOf = Callable[[Trajectory], Awaitable[float | None]]
"""The reward of a finished episode; None if it has none. A judge is asked for it, so it is awaited."""

EXPLORATION = 2.0
"""Weight of exploration at the first simulation (RepoSearch-R1)."""
FINAL = 0.1
"""Share of the weight of exploration that would remain at simulation T (RepoSearch-R1)."""


@dataclass
class Tree:
    """``explored`` are the finished nodes that simulations ended in, in order; ``revisits`` simulations ended in one of them
    again, and ``lost`` ones in none. ``chosen`` are the nodes whose episodes are trained on; ``deviation`` is the standard
    deviation of the rewards that there were to choose from.
    """

    root: Node = field(default_factory=Node)
    explored: list[Node] = field(default_factory=list)
    revisits: int = 0
    lost: int = 0
    chosen: list[Node] = field(default_factory=list)
    deviation: float = 0.0

    def figures(self) -> dict[str, float]:
        """The tree's figures: turns sampled, those in trained episodes, finished episodes, simulations without a new one, and the
        deviation."""
        nodes = list(self.root.everyone())[1:]
        finished = [node for node in nodes if node.finished]
        trained = {id(passed) for node in self.chosen for passed in node.path} - {id(self.root)}
        return {
            "tree_turns": len(nodes), "tree_turns_trained": len(trained), "tree_finished": len(finished),
            "tree_revisits": self.revisits, "tree_lost": self.lost, "tree_critiqued": sum(node.critiqued for node in nodes),
            "tree_deviation": self.deviation,
        }  # fmt: skip


async def grow(section: RolloutSearch, episode: Episode, group: int, reward: RewardOf, outcome: RewardOf | None = None) -> Tree:
    """The tree of a prompt, with at most ``group`` episodes chosen by ``reward``.

    ``outcome`` is what is propagated, if not ``reward``: the paper propagates no process reward. Raises
    :class:`InfrastructureError` if no episode finished.
    """
    grower = _Grower(section, episode, reward, outcome or reward)
    for number in range(section.simulations):
        await grower.simulate(number)
    tree = grower.tree
    rows = tree.explored
    if not rows:
        raise InfrastructureError(grower.failure or "no episode of the tree has a reward")
    rewards = [node.reward or 0.0 for node in rows]
    tree.deviation = pstdev(rewards)
    tree.chosen = [rows[index] for index in choose(rewards, group)]
    return tree


def trajectory_of(node: Node, episode: Episode) -> Trajectory:
    """The episode that ends in ``node``, as :func:`fusesearch.agents.loop.run_episode` would give it."""
    trajectory = new_trajectory(
        episode.instance, episode.agent, episode.instructions, localizer=episode.localizer,
        model=episode.model.name, seed=episode.sampling.seed, guidance=episode.guidance,
    )  # fmt: skip
    state = node.state
    seconds = sum(turn.usage.seconds + turn.seconds_tools for turn in state.turns)
    found = {"turns": list(state.turns), "stop": state.stop, "answer": state.answer, "error": None, "seconds": seconds}
    return trajectory.model_copy(update=found)


class _Grower:
    """One tree being grown. Chance depends on the seed of the episode and the place in the tree alone."""

    def __init__(self, section: RolloutSearch, episode: Episode, reward: RewardOf, outcome: RewardOf) -> None:
        self.section, self.episode, self._reward, self._outcome = section, episode, reward, outcome
        self.tree = Tree()
        self.failure = ""
        self._draw = Random(f"{episode.sampling.seed}/{episode.instance.instance_id}")

    async def simulate(self, number: int) -> None:
        """Select, continue to an end, propagate its reward."""
        section = self.section
        lazy = section.expansion == "lazy"
        weight = weight_at(number, section.simulations, EXPLORATION, FINAL)
        node = select(self.tree.root, weight, self._draw, least=section.children if lazy else 1)
        again = node in self.tree.explored
        while not node.finished:
            children = await self._expand(node, 1 if lazy else section.children)
            if not children:
                self.tree.lost += 1
                return
            node = self._draw.choice(children)
        await self._end(node, again)

    async def judged(self, node: Node) -> float | None:
        """The reward of a finished node, computed once."""
        if node.finished and node.reward is None:
            node.reward = await self._reward(trajectory_of(node, self.episode))
        return node.reward

    async def _end(self, node: Node, again: bool) -> None:
        outcome = await self._outcome(trajectory_of(node, self.episode))
        if await self.judged(node) is None or outcome is None:
            self.tree.lost += 1
            return
        back_up(node, outcome)
        if again:
            self.tree.revisits += 1
        else:
            self.tree.explored.append(node)

    async def _expand(self, node: Node, count: int) -> list[Node]:
        """New children. With self-critique, all but the first see what the first did and a reflection on it."""
        if self.section.self_critique == "none":
            numbers = range(len(node.children), len(node.children) + count)
            states = await asyncio.gather(*(self._step(node, number) for number in numbers))
            return [node.add(state) for state in states if state]
        made = []
        for number in range(len(node.children), len(node.children) + count):
            first = node.children[0].state if node.children else node.state
            criticized = len(first.turns) > len(node.state.turns)
            state = await self._step(node, number, _reflection(first) if criticized else ())
            if state and len(state.turns) == len(node.state.turns) and criticized:
                continue  # the reflection alone made the conversation too long
            if state:
                made.append(node.add(_behind(state, first) if criticized else state, criticized))
        return made

    async def _step(self, node: Node, number: int, aside: Sequence[Message] = ()) -> State | None:
        """The state after one more turn; None if the world fails."""
        address = (*node.address, number)
        seed = self.episode.sampling.seed
        if any(address):  # the first line of the tree is the episode that would be run without one
            seed = int.from_bytes(hashlib.sha256(f"{seed}/{address}".encode()).digest()[:7], "big")
        episode = replace(self.episode, sampling=self.episode.sampling.seeded(seed))
        try:
            async with asyncio.timeout(episode.agent.max_seconds):
                return await step(node.state, episode, aside)
        except (InfrastructureError, RepositoryError, OSError) as error:
            self.failure = " ".join(str(error).split()) or type(error).__name__
            return None


def _reflection(first: State) -> list[Message]:
    """What the second child sees besides: the first child's turn, its observations, and the request to do better (figure 4)."""
    turn = first.turns[-1]
    asked = Message(role="user", content=render("fusesearch.agents.prompts", "reflect" if turn.calls else "reflect_answer"))
    return [assistant_message(turn), *observation_messages(turn), asked]


def _behind(state: State, first: State) -> State:
    """The state with its last turn as if sampled without the reflection: its context is that of the first child.

    Its log-probabilities there are unknown: NaN, with which tokens count in full where TRL 1.16 corrects importance.
    """
    turn, plain = state.turns[-1], first.turns[-1].tokens
    if turn.tokens is None or plain is None:
        return state
    unknown = [math.nan] * len(turn.tokens.completion_ids)
    tokens = turn.tokens.model_copy(update={"prompt_ids": plain.prompt_ids, "logprobs": unknown})
    return replace(state, turns=(*state.turns[:-1], turn.model_copy(update={"tokens": tokens})))
