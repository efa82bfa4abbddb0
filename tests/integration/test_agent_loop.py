"""Whole episodes with real ripgrep over a real tree, with a scripted model."""

import json

import pytest

from fusesearch.agents.conversation import messages_of
from fusesearch.agents.loop import run_episode, run_episodes
from fusesearch.agents.models.base import Sampling
from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.agents.parsing import format_calls
from fusesearch.core.config import Agent, Tools
from fusesearch.core.schema import Instance
from fusesearch.localizers.episodes import make_episode
from fusesearch.search.repository import Repository
from fusesearch.search.tools import Toolbox

INSTANCE = Instance(instance_id="shop-1", repo="o/shop", base_commit="c", problem_statement="`total` ignores the discount.")
ANSWER = "Found.\n\n## Locations to Modify\n- /repo/shop/cart.py::Cart.total\n"
SEARCH = [("grep", {"pattern": "discount"}), ("glob", {"pattern": "**/*.py"}), ("grep", {"pattern": "("}), ("fly", {})]
READ = [("grep", {"pattern": "def total", "output_mode": "content"}), ("read_file", {"path": "/repo/shop/cart.py"})]


@pytest.fixture
def toolbox(tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "cart.py").write_text("class Cart:\n    def total(self):\n        return self.sum  # no discount\n")
    (tmp_path / "shop" / "other.py").write_text("x = 1\n")
    return Toolbox(Repository(tmp_path), Tools())


async def run(toolbox, model):
    episode = make_episode(INSTANCE, toolbox.repository, model, Agent(), Tools(), Sampling(), localizer="fusesearch")
    return await run_episode(episode)


def check_search(trajectory):
    first, second, _ = trajectory.turns
    assert [seen.entities for seen in first.observations] == [["shop/cart.py"], ["shop/cart.py", "shop/other.py"], [], []]
    assert [bool(seen.error) for seen in first.observations] == [False, False, True, True]
    assert [seen.gain_turn for seen in first.observations] == [1, 1, 0, 0]
    assert [seen.gain_call for seen in first.observations] == [1, 0.5, 0, 0]
    assert second.observations[0].entities == ["shop/cart.py:2"]
    assert second.observations[1].gain_call == pytest.approx(2 / 3)
    assert (trajectory.stop, trajectory.error) == ("answer", None)
    assert trajectory.answer.functions == ["shop/cart.py::Cart.total"]


async def test_an_episode_searches_reads_and_answers(toolbox):
    trajectory = await run(toolbox, ScriptedModel([format_calls(SEARCH), format_calls(READ), ANSWER]))
    check_search(trajectory)
    assert [message.role for message in messages_of(trajectory)] == ["system", "user", "assistant", *["tool"] * 4, "assistant",
                                                                     "tool", "tool", "assistant"]  # fmt: skip


async def test_the_same_episode_twice_gives_the_same_trajectory_but_for_time(toolbox):
    def timeless(trajectory):
        row = trajectory.model_dump(exclude={"seconds"})
        for turn in row["turns"]:
            turn["seconds_tools"] = turn["usage"]["seconds"] = 0
            for seen in turn["observations"]:
                seen["seconds"] = 0
        return json.dumps(row)

    script = ScriptedModel([format_calls(SEARCH), format_calls(READ), ANSWER])
    assert timeless(await run(toolbox, script)) == timeless(await run(toolbox, script))


async def test_hundreds_of_episodes_share_one_process(toolbox):
    script = ScriptedModel([format_calls(SEARCH), format_calls(READ), ANSWER])
    count = 0
    async for trajectory in run_episodes((lambda: run(toolbox, script) for _ in range(256)), concurrency=256):
        check_search(trajectory)
        count += 1
    assert count == 256
