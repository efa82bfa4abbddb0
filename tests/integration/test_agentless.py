"""Agentless over a real git repository with the real parsing of replies: what it asks, what it answers, how it ends."""

import pytest

from fusesearch.agents.models.base import Sampling
from fusesearch.core.schema import Trajectory
from fusesearch.localizers import agentless
from tests.fakes.dialogue import Dialogue, localized

ISSUE = "`Basket.total` forgets the discount when `apply_discount` is called twice.\n\n### Code ###\n```\nBasket().total()\n```\n"
SHOP = '''\
"""Shop."""

RATE = 3


class Basket:
    """Basket."""

    def total(self):
        return sum(self.items) * RATE

    def add(self, item):
        self.items.append(item)


def apply_discount(basket):
    return basket.total() / 2
'''
FILES = {
    "shop/__init__.py": "",
    "shop/basket.py": SHOP,
    "shop/prices.py": "def price(item):\n    return item.price\n",
    "shop/tests/test_basket.py": "def test(): pass\n",
    "tools/release.py": "def release():\n    pass\n",
    "README.md": "# Shop\n",
}
MARKS = {"files": "### Repository tree", "elements": "### Skeletons", "edits": ""}
BASKET = "```\nshop/basket.py\n```"


async def run(repository, name="agentless", sampling=None, **replies):
    """The trajectory and the model, whose requests are single messages without tools."""
    model = Dialogue(MARKS, replies)
    model.sampled = []
    complete = model.complete

    async def noted(messages, tools, sampling):
        assert ([message.role for message in messages], tools) == (["user"], [])
        model.sampled.append((sampling.temperature, sampling.seed))
        return await complete(messages, tools, sampling)

    model.complete = noted
    return await localized(name, model, repository, ISSUE, **({"sampling": sampling} if sampling else {})), model


async def test_it_asks_for_files_then_elements_then_places(repository):
    trajectory, model = await run(
        repository,
        files="I think\n```\nshop/basket.py\nno/such.py\n/repo/shop/prices.py\n```",
        elements="```\nshop/basket.py\nclass: Basket\nfunction: apply_discount\nfunction: missing\n```",
        edits="```\nshop/basket.py\nline: 10\nfunction: apply_discount\nfunction: Basket.total\n```",
    )
    assert model.kinds == ["files", "elements", "edits"]
    assert (trajectory.stop, trajectory.error, trajectory.mode, trajectory.seed) == ("answer", None, "sequential", 3)
    assert [one.entity for one in trajectory.answer.modify] == [
        "shop/basket.py::Basket.total", "shop/basket.py::apply_discount", "shop/prices.py",
    ]  # fmt: skip
    assert trajectory.answer.modify[0].lines == (10, 10)
    assert [turn.prompt for turn in trajectory.turns] == [messages[-1].content for _, messages in model.asked]
    assert sum(turn.usage.prompt_tokens for turn in trajectory.turns) > 0
    assert Trajectory.model_validate_json(trajectory.model_dump_json()) == trajectory


async def test_each_question_shows_what_it_is_about(repository, monkeypatch):
    monkeypatch.setattr(agentless, "WINDOW", 1)
    monkeypatch.setattr(agentless, "ATTEMPTS", 1)
    said = {"files": "```\nshop/basket.py\nshop/prices.py\n```", "elements": "```\nshop/basket.py\nfunction: Basket.add\n```"}
    _, model = await run(repository, **said)
    edits = "11|\n12|    def add(self, item):\n13|        self.items.append(item)\n14|"
    for kind, shown, hidden in (
        ("files", "shop/\n  __init__.py\n  basket.py\n  prices.py\ntools/\n  release.py", "test_basket"),
        ("elements", "### shop/basket.py ###\nRATE = 3\n\nclass Basket:\n    def total(self):\n        ...\n", "release"),
        ("elements", "### shop/prices.py ###", "release"),
        ("edits", f"### shop/basket.py ###\n...\n{edits}\n...", "price"),
    ):
        prompt = model.prompt(kind)
        assert (shown in prompt, ISSUE.strip() in prompt, hidden in prompt) == (True, True, False)


@pytest.mark.parametrize(
    ("said", "questions", "answer"),
    [
        ({"files": BASKET, "elements": "```\nshop/basket.py\nfunction: Basket.add\n```", "edits": "?"},
         ["files", "elements", "edits", "edits"], ["shop/basket.py::Basket.add"]),
        ({"files": "```\nshop/prices.py\nshop/basket.py\n```"},
         ["files", "elements", "elements"], ["shop/prices.py", "shop/basket.py"]),
        ({"files": "```\nfirst/path.py\n../shop/basket.py\n/etc/passwd\n```"}, ["files", "files"], []),
    ],
)  # fmt: skip
async def test_elements_or_files_answer_where_nothing_more_is_named(repository, monkeypatch, said, questions, answer):
    monkeypatch.setattr(agentless, "ATTEMPTS", 2)
    trajectory, model = await run(repository, **said)
    assert model.kinds == questions
    assert [one.entity for one in (trajectory.answer.modify if trajectory.answer else ())] == answer
    assert (trajectory.stop, trajectory.error) == ("answer" if answer else "no_answer", None)


async def test_a_question_is_asked_again_at_temperature_one(repository):
    rate = "```\nshop/basket.py\nvariable: RATE\n```"
    elements = ["", "```\nshop/basket.py\nfunction: nothing\n```", rate]
    trajectory, model = await run(repository, sampling=Sampling(temperature=0.2), files=BASKET, elements=elements, edits=rate)
    assert model.kinds == ["files", "elements", "elements", "elements", "edits"]
    assert model.sampled == [(0.2, 3), (0.2, 3), (1.0, 4), (1.0, 5), (0.2, 3)]
    assert [(one.entity, one.lines) for one in trajectory.answer.modify] == [("shop/basket.py", (3, 3))]
