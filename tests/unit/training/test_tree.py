"""Tree search against a plain restatement of RepoSearch-R1 section 3.1, and against the loop that it is made of."""

import asyncio
import math
import zlib
from dataclasses import replace
from random import Random
from statistics import pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.agents.loop import Episode
from fusesearch.agents.models.base import Completion, Sampling
from fusesearch.agents.parsing import format_calls
from fusesearch.core.config import Agent, RolloutSearch
from fusesearch.core.errors import InfrastructureError, ModelUnavailable
from fusesearch.core.schema import Instance, Tokens
from fusesearch.localizers.episodes import spec_named
from fusesearch.search.results import Outcome
from fusesearch.training.search.growing import grow, trajectory_of
from fusesearch.training.search.tree import as_json, choose

INSTANCE = Instance(instance_id="i", repo="o/n", base_commit="c", problem_statement="It breaks.")
SEEDS = st.integers(0, 2**31)


class Wanderer:
    """Writes a call or an answer that depends on the seed and the length of the conversation alone."""

    name = "wanderer"

    def __init__(self):
        self.asked = []

    async def complete(self, messages, tools, sampling):
        self.asked.append(messages)
        turn = sum(message.role == "assistant" for message in messages)
        draw = zlib.crc32(f"{sampling.seed}/{turn}".encode())
        text = (
            f"## Locations to Modify\n- /repo/{draw}.py\n" if draw % 3 == 0 else format_calls([("see", {"what": str(draw % 50)})])
        )
        return Completion(text=text, tokens=Tokens(prompt_ids=[turn], completion_ids=[draw % 1000], logprobs=[-0.5]))

    async def close(self):
        pass


class Sight:
    async def call(self, name, arguments):
        return Outcome(output=f"saw {arguments['what']}", entities=[arguments["what"]])


def episode(seed=3, max_turns=4, model=None):
    agent = Agent(max_turns=max_turns)
    told = spec_named("fusesearch").instruct(agent, INSTANCE.problem_statement, None)
    return Episode(INSTANCE, Sight(), model or Wanderer(), agent, Sampling(seed=seed), told, "x")


def grade(trajectory):
    return zlib.crc32("".join(turn.text for turn in trajectory.turns).encode()) % 6 / 5


async def worth(trajectory):
    return grade(trajectory)


def restated(simulations, children, ends, grade_at, draw):
    """Section 3.1 and its code in so many words, over addresses: values, visits and the finished nodes in order."""
    value, visits, below, explored = {(): 0.0}, {(): 0}, {}, []
    for t in range(simulations):
        weight = 2.0 * 0.1 ** (t / simulations)
        node = ()
        while node in below:
            unvisited = [child for child in below[node] if visits[child] == 0]
            if unvisited:
                node = draw.choice(unvisited)
                break
            scores = [value[c] / visits[c] + weight * math.sqrt(math.log(visits[node]) / visits[c]) for c in below[node]]
            node = below[node][scores.index(max(scores))]
        while not ends(node):
            below[node] = [(*node, number) for number in range(children)]
            for child in below[node]:
                value[child], visits[child] = 0.0, 0
            node = draw.choice(below[node])
        if node not in explored:
            explored.append(node)
        for length in range(len(node) + 1):
            value[node[:length]] += grade_at(node)
            visits[node[:length]] += 1
    return value, visits, explored


@given(SEEDS, st.integers(1, 12), st.integers(1, 3), st.integers(1, 5))
def test_the_tree_of_the_paper(seed, simulations, children, max_turns):
    section = RolloutSearch(kind="mcts", simulations=simulations, children=children)
    whole = episode(seed, max_turns)
    tree = asyncio.run(grow(section, whole, 8, worth))
    nodes = {node.address: node for node in tree.root.everyone()}
    value, visits, explored = restated(
        simulations,
        children,
        lambda at: nodes[at].finished,
        lambda at: grade(trajectory_of(nodes[at], whole)),
        Random(f"{seed}/i"),
    )
    assert {at: node.visits for at, node in nodes.items()} == visits
    assert {at: node.value for at, node in nodes.items()} == pytest.approx(value)
    assert [node.address for node in tree.explored] == explored
    assert tree.revisits == simulations - len(explored)


@given(SEEDS, st.sampled_from(["full", "lazy"]), st.sampled_from(["none", "distil"]))
def test_any_tree_is_made_of_whole_episodes(seed, expansion, critique):
    section = RolloutSearch(kind="mcts", children=3, expansion=expansion, self_critique=critique)
    whole = episode(seed)
    tree = asyncio.run(grow(section, whole, 8, worth))
    assert 1 <= len(tree.chosen) <= 8
    assert len({id(node) for node in tree.chosen}) == len(tree.chosen)
    for node in tree.chosen:
        trajectory = trajectory_of(node, whole)
        assert trajectory.stop in ("answer", "no_answer", "max_turns")
        assert len(trajectory.turns) == len(node.path) - 1
        for before, passed in zip(node.path[1:], node.path, strict=False):
            assert passed.state.turns[:-1] == before.state.turns
    rows = as_json(tree.root, tree.chosen)["nodes"]
    assert sum(row["trained"] for row in rows) - 1 == tree.figures()["tree_turns_trained"]
    finished = [node.reward for node in tree.root.everyone() if node.reward is not None]
    assert tree.figures()["tree_deviation"] == pytest.approx(pstdev(finished))
    assert all(row["parent"] < number for number, row in enumerate(rows) if number)


@given(st.lists(st.sampled_from([0.0, 0.2, 0.4, 1.0]), max_size=20), st.integers(1, 10))
def test_the_choice_of_episodes(rewards, most):
    chosen = choose(rewards, most)
    assert len(chosen) == len(set(chosen)) == min(most, len(rewards))
    levels = [rewards[index] for index in chosen]
    distinct = sorted(set(rewards), reverse=True)
    expected = [*distinct[:1], *distinct[-1:], *distinct[1:-1]] if len(distinct) > 1 else distinct
    assert levels[: len(expected)] == expected[:most]
    rest = sorted(rewards, reverse=True)
    for level in expected:
        rest.remove(level)
    for number, level in enumerate(levels[len(expected) :]):
        assert level == rest.pop(0 if number % 2 == 0 else -1)


async def test_a_second_child_sees_the_first_and_is_kept_as_if_it_had_not():
    model = Wanderer()
    tree = await grow(RolloutSearch(kind="mcts", self_critique="distil"), episode(model=model), 8, worth)
    first, second = tree.root.children
    assert (first.critiqued, second.critiqued) == (False, True)
    seen = model.asked[1]
    assert seen[2].content == first.state.turns[0].text
    assert (seen[-1].role, "critically" in seen[-1].content) == ("user", True)
    assert second.state.turns[0].tokens.prompt_ids == first.state.turns[0].tokens.prompt_ids
    assert not any(map(math.isnan, first.state.turns[0].tokens.logprobs))
    assert all(map(math.isnan, second.state.turns[0].tokens.logprobs))  # how likely it was without the reflection is not known
    assert not any("critically" in turn.prompt + turn.text for node in tree.root.everyone() for turn in node.state.turns)


async def test_a_world_that_fails_loses_a_simulation_not_the_tree():
    class Flaky(Wanderer):
        async def complete(self, messages, tools, sampling):
            if len(self.asked) == 4:
                self.asked.append(messages)
                raise ModelUnavailable("gone")
            return await super().complete(messages, tools, sampling)

    tree = await grow(RolloutSearch(kind="mcts", children=1, expansion="lazy"), episode(model=Flaky()), 8, worth)
    assert tree.chosen

    class Dead(Wanderer):
        async def complete(self, messages, tools, sampling):
            raise ModelUnavailable("gone for good")

    with pytest.raises(InfrastructureError, match="gone for good"):
        await grow(RolloutSearch(kind="mcts"), episode(model=Dead()), 8, worth)


async def test_a_finished_episode_without_a_reward_is_never_worth_zero():
    async def sometimes(trajectory):
        return None if grade(trajectory) < 0.5 else grade(trajectory)

    tree = await grow(RolloutSearch(kind="mcts", simulations=12), episode(5), 8, sometimes)
    assert all(node.reward >= 0.5 for node in tree.chosen)
    assert tree.lost > 0
    assert tree.root.visits == 12 - tree.lost


async def test_the_propagated_value_may_differ_from_the_trained_one():
    async def with_process(trajectory):
        return grade(trajectory) + 0.05

    tree = await grow(RolloutSearch(kind="mcts"), episode(), 8, with_process, worth)
    ends = [node for node in tree.explored if node.visits]
    assert all(node.value == pytest.approx(node.visits * (node.reward - 0.05)) for node in ends)


async def test_seeds_depend_on_the_place_in_the_tree_alone():
    full, lazy = [await grow(RolloutSearch(kind="mcts", expansion=e), episode(), 8, worth) for e in ("full", "lazy")]
    texts = [{node.address: node.state.turns[-1].text for node in list(tree.root.everyone())[1:]} for tree in (full, lazy)]
    assert all(texts[0][at] == text for at, text in texts[1].items() if at in texts[0])
    other = await grow(RolloutSearch(kind="mcts"), replace(episode(), sampling=Sampling(seed=4)), 8, worth)
    assert [n.state.turns[0].text for n in other.root.children] != [n.state.turns[0].text for n in full.root.children]
