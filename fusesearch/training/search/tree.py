"""A tree of episodes that share their beginnings: selection, back-propagation, and the choice of what to train on.

A node is an episode so far; its children continue it by one turn each. Nothing here asks a model. ``tests`` compare it with a
plain restatement of the paper.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from fusesearch.agents.loop import State


@dataclass(eq=False)
class Node:
    """``value`` is the sum of the rewards propagated through the node, ``reward`` that of the episode that ends here.

    ``critiqued`` marks a turn that was sampled after its first sibling and a reflection on it.
    """

    state: State = field(default_factory=State)
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)
    visits: int = 0
    value: float = 0.0
    reward: float | None = None
    critiqued: bool = False

    @property
    def finished(self) -> bool:
        """Whether the episode has ended."""
        return self.state.stop is not None

    @property
    def path(self) -> list[Node]:
        """The nodes from here to the root, both included."""
        return [self, *(self.parent.path if self.parent else [])]

    @property
    def address(self) -> tuple[int, ...]:
        """The number of each child on the way from the root."""
        if self.parent is None:
            return ()
        return (*self.parent.address, self.parent.children.index(self))

    def everyone(self) -> Iterator[Node]:
        """The node and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.everyone()

    def add(self, state: State, critiqued: bool = False) -> Node:
        """A new child."""
        child = Node(state, self, critiqued=critiqued)
        self.children.append(child)
        return child


def weight_at(simulation: int, simulations: int, first: float, final: float) -> float:
    """w_t = w_0 final^(t/T), t from 0: the last one is above ``final`` of the first, as in the paper's code."""
    return first * final ** (simulation / simulations)


def upper_bound(node: Node, weight: float) -> float:
    """Q/N + w sqrt(ln N_parent / N); infinite without a visit."""
    if node.visits == 0 or node.parent is None:
        return math.inf
    return node.value / node.visits + weight * math.sqrt(math.log(node.parent.visits) / node.visits)


def select(root: Node, weight: float, draw: Random, least: int = 1) -> Node:
    """The node to continue: down from the root by upper bounds.

    Ends at a finished node, at one with fewer than ``least`` children, and at a child without a visit, which is drawn at random.
    """
    node = root
    while not node.finished and len(node.children) >= least:
        fresh = [child for child in node.children if child.visits == 0]
        if fresh:
            return draw.choice(fresh)
        node = max(node.children, key=lambda child: upper_bound(child, weight))
    return node


def back_up(node: Node, reward: float) -> None:
    """Add the reward of an episode to every node on its path."""
    for passed in node.path:
        passed.visits += 1
        passed.value += reward


def choose(rewards: Sequence[float], most: int) -> list[int]:
    """Indices of the episodes to train on (RepoSearch-R1's code; "most promising" in its text).

    One of the best, one of the worst if that differs, one of each other reward from the best on; then the best and the worst
    that remain by turns. This raises the variance within a group by construction.
    """
    groups = [[index for index, reward in enumerate(rewards) if reward == level] for level in sorted(set(rewards), reverse=True)]
    if not groups:
        return []
    order = [groups[0], *([groups[-1]] if len(groups) > 1 else []), *groups[1:-1]]
    chosen = [group.pop(0) for group in order[:most]]
    best = True
    while len(chosen) < most and (left := [group for group in groups if group]):
        chosen.append(left[0 if best else -1].pop(0))
        best = not best
    return chosen


def as_json(root: Node, chosen: Sequence[Node]) -> dict[str, Any]:
    """The tree for files and pages: a row per node with its parent's number, figures, calls with gain, and whether trained."""
    nodes = list(root.everyone())
    numbers = {id(node): number for number, node in enumerate(nodes)}
    trained = {id(passed) for node in chosen for passed in node.path}
    rows = []
    for node in nodes:
        added = node.state.turns[len(node.parent.state.turns) :] if node.parent else ()
        turn = added[0] if added else None  # none where the conversation had reached its limit
        gains = [seen.gain_turn for seen in turn.observations] if turn else []
        calls = [{"name": call.name, "arguments": call.arguments} for call in turn.calls] if turn else []
        rows.append(
            {
                "parent": numbers[id(node.parent)] if node.parent else None,
                "visits": node.visits, "value": node.value, "reward": node.reward, "critiqued": node.critiqued,
                "stop": node.state.stop, "trained": id(node) in trained,
                "text": turn.text if turn else "", "calls": calls, "gains": gains,
            }
        )  # fmt: skip
    return {"nodes": rows}
