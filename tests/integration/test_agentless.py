"""Agentless over a real git repository with the real parsing of replies: what it asks, what it answers, how it ends."""

from fusesearch.agents.models.base import Sampling
from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.core.config import Agent
from fusesearch.core.schema import Instance, Trajectory
from fusesearch.localizers import agentless
from fusesearch.localizers.agentless import AgentlessFoldersLocalizer, AgentlessLocalizer
from fusesearch.localizers.base import Setup
from fusesearch.localizers.registry import make_localizer
from tests.fakes.git import write

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


def question(prompt: str) -> str:
    for name, heading in [
        ("folders", "in a slash"),
        ("files", "### Repository tree"),
        ("elements", "### Skeletons"),
        ("edits", ""),
    ]:
        if heading in prompt:
            return name
    raise AssertionError(prompt)


def replies(**texts):
    """A model that answers each question by its name; a list is used up from request to request."""
    asked: list[tuple[str, str]] = []
    temperatures: list[tuple[float, int | None]] = []

    class Model(ScriptedModel):
        async def complete(self, messages, tools, sampling):
            assert [message.role for message in messages] == ["user"]
            assert not tools
            temperatures.append((sampling.temperature, sampling.seed))
            return await super().complete(messages, tools, sampling)

    def reply(messages):
        prompt = messages[-1].content
        name = question(prompt)
        asked.append((name, prompt))
        text = texts.get(name, "")
        return text.pop(0) if isinstance(text, list) else text

    model = Model(reply)
    return model, asked, temperatures


async def localized(repository, model, agent=None, kind=AgentlessLocalizer, **more) -> Trajectory:
    instance = Instance(instance_id="i", repo="o/shop", base_commit="c", problem_statement=ISSUE)
    localizer = kind(Setup(model, agent or Agent(), **more))
    return await localizer.localize(instance, repository, seed=3)


async def test_it_asks_for_files_then_elements_then_places(repository):
    model, asked, _ = replies(
        files="I think\n```\nshop/basket.py\nno/such.py\n/repo/shop/prices.py\n```",
        elements="```\nshop/basket.py\nclass: Basket\nfunction: apply_discount\nfunction: missing\n```",
        edits="```\nshop/basket.py\nline: 10\nfunction: apply_discount\nfunction: Basket.total\n```",
    )
    trajectory = await localized(repository, model)
    assert [name for name, _ in asked] == ["files", "elements", "edits"]
    assert (trajectory.stop, trajectory.error, trajectory.mode, trajectory.seed) == ("answer", None, "sequential", 3)
    assert [one.entity for one in trajectory.answer.modify] == [
        "shop/basket.py::Basket.total", "shop/basket.py::apply_discount", "shop/prices.py",
    ]  # fmt: skip
    assert trajectory.answer.modify[0].lines == (10, 10)
    assert [turn.prompt for turn in trajectory.turns] == [prompt for _, prompt in asked]
    assert sum(turn.usage.prompt_tokens for turn in trajectory.turns) > 0
    assert Trajectory.model_validate_json(trajectory.model_dump_json()) == trajectory


async def test_each_question_shows_what_it_is_about(repository, monkeypatch):
    monkeypatch.setattr(agentless, "WINDOW", 1)
    monkeypatch.setattr(agentless, "ATTEMPTS", 1)
    model, asked, _ = replies(
        files="```\nshop/basket.py\nshop/prices.py\n```",
        elements="```\nshop/basket.py\nfunction: Basket.add\n```",
        edits="nothing",
    )
    await localized(repository, model)
    prompts = dict(asked)
    assert "shop/\n  __init__.py\n  basket.py\n  prices.py\ntools/\n  release.py" in prompts["files"]
    assert "test_basket" not in prompts["files"]
    assert "### shop/basket.py ###\nRATE = 3\n\nclass Basket:\n    def total(self):\n        ...\n" in prompts["elements"]
    assert "### shop/prices.py ###" in prompts["elements"]
    assert (
        "### shop/basket.py ###\n...\n11|\n12|    def add(self, item):\n13|        self.items.append(item)\n14|\n..."
        in prompts["edits"]
    )
    assert "prices" not in prompts["edits"]
    assert all(ISSUE.strip() in prompt for _, prompt in asked)


async def test_elements_or_files_answer_where_nothing_more_is_named(repository, monkeypatch):
    monkeypatch.setattr(agentless, "ATTEMPTS", 2)
    basket = "```\nshop/basket.py\n```"
    for said, questions, answer in (
        (
            {"files": basket, "elements": "```\nshop/basket.py\nfunction: Basket.add\n```", "edits": "?"},
            ["files", "elements", "edits", "edits"],
            ["shop/basket.py::Basket.add"],
        ),
        (
            {"files": "```\nshop/prices.py\nshop/basket.py\n```"},
            ["files", "elements", "elements"],
            ["shop/prices.py", "shop/basket.py"],
        ),
        ({"files": "```\nno/such.py\n../shop/basket.py\n/etc/passwd\n```"}, ["files"], []),
    ):
        model, asked, _ = replies(**said)
        trajectory = await localized(repository, model)
        assert [name for name, _ in asked] == questions
        assert [one.entity for one in (trajectory.answer.modify if trajectory.answer else ())] == answer
        assert (trajectory.stop, trajectory.error) == ("answer" if answer else "no_answer", None)


async def test_a_question_is_asked_again_at_temperature_one(repository):
    model, asked, temperatures = replies(
        files="```\nshop/basket.py\n```",
        elements=["", "```\nshop/basket.py\nfunction: nothing\n```", "```\nshop/basket.py\nvariable: RATE\n```"],
        edits="```\nshop/basket.py\nvariable: RATE\n```",
    )
    trajectory = await localized(repository, model, sampling=Sampling(temperature=0.2))
    assert [name for name, _ in asked] == ["files", "elements", "elements", "elements", "edits"]
    assert temperatures == [(0.2, 3), (0.2, 3), (1.0, 4), (1.0, 5), (0.2, 3)]
    assert [(one.entity, one.lines) for one in trajectory.answer.modify] == [("shop/basket.py", (3, 3))]


async def test_folders_that_do_not_matter_are_left_out_of_the_tree(repository):
    model, asked, _ = replies(folders="```\ntools/\nshop/basket.py\n```", files="```\ntools/release.py\nshop/basket.py\n```")
    localizer = make_localizer("agentless-folders", Setup(model))
    trajectory = await localizer.localize(
        Instance(instance_id="i", repo="o/n", base_commit="c", problem_statement=ISSUE), repository
    )
    assert trajectory.localizer == "agentless-folders"
    assert "tools/" in asked[0][1].split("### Repository tree ###")[1].split("### Your")[0]
    assert "tools/" not in asked[1][1].split("### Repository tree ###")[1].split("### Your")[0]
    assert trajectory.answer.files == ["shop/basket.py"]


async def test_all_files_are_shown_where_every_folder_was_called_irrelevant(repository):
    model, asked, _ = replies(folders="```\ntools/\nshop/\n```", files="")
    await localized(repository, model, kind=AgentlessFoldersLocalizer)
    assert "release.py" in asked[1][1]


async def test_requests_stay_below_the_context(repository, tmp_path):
    agent = Agent(max_context_tokens=2400, max_new_tokens=100, issue_chars=300)
    files = {f"pkg/module_{i}.py": "\n".join(f"def f{i}_{j}(): pass" for j in range(300)) for i in range(90)}
    write(tmp_path, files)
    from fusesearch.search.repository import Repository

    model, asked, _ = replies(
        files="```\npkg/module_1.py\npkg/module_2.py\n```",
        elements="```\npkg/module_1.py\n" + "\n".join(f"function: f1_{j}" for j in range(0, 300, 9)) + "\n```",
        edits="```\npkg/module_1.py\nfunction: f1_9\n```",
    )
    trajectory = await localized(Repository(tmp_path), model, agent=agent)
    assert trajectory.answer.functions == ["pkg/module_1.py::f1_9"]
    assert all(len(prompt) < 4 * agent.max_context_tokens for _, prompt in asked)
    assert "not shown)" in asked[1][1]
    assert "more files are not shown" in asked[1][1]
