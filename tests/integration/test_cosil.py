"""CoSIL over a real git repository: what it asks of files and functions, what its calls show, what is pruned, how it ends."""

import pytest

from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.agents.parsing import format_calls
from fusesearch.code.calls import CallGraph
from fusesearch.code.modules import outlines_of
from fusesearch.core.config import Agent, Tools
from fusesearch.core.schema import Instance, Trajectory
from fusesearch.localizers.base import Setup
from fusesearch.localizers.cosil import CoSilLocalizer
from fusesearch.localizers.cosil.tools import SearchTools, read_call

ISSUE = "`Basket.total` is wrong when `round_price` gets half a cent.\n\n### Text ###\nSee `price_of`."
FILES = {
    "shop/__init__.py": "",
    "shop/basket.py": """\
import os
from shop.prices import price_of


class Basket:
    def total(self):
        return sum(price_of(item) for item in self.items) + self.fee()

    def fee(self):
        return 1


def make():
    return Basket()
""",
    "shop/prices.py": """\
from shop import rounding


def price_of(item):
    return rounding.round_price(item.price)


def unused():
    return 0
""",
    "shop/rounding.py": "def round_price(value):\n    return round(value)\n",
    "tests/test_shop.py": "def test(): pass\n",
}
RANKED = """\
```
shop/rounding.py
function: round_price

shop/basket.py
function: Basket.total
function: Basket.nothing
```
"""
FOUND = "```\nshop/basket.py\nshop/prices.py\n```"


MARKS = {
    "format": "Write the list again",
    "prune": "### Asked for ###",
    "reflection": "### Imports ###",
    "files": "### Repository tree ###",
    "start": "call nothing yet",
    "call": "Call one function now",
    "rank": "The search is over",
}


def scripted(**texts):
    """A model that answers each kind of question; a list is used up from request to request. And all requests it got."""
    requests: list[tuple[str, list]] = []

    def reply(messages):
        kind = next(name for name, mark in MARKS.items() if mark in messages[-1].content)
        requests.append((kind, list(messages)))
        text = texts.get(kind, FOUND if kind in ("files", "reflection") else "```\nTrue\n```" if kind == "prune" else "exit()")
        return (text.pop(0) if text else "exit()") if isinstance(text, list) else text

    return ScriptedModel(reply), requests


async def localized(repository, model, agent=None, tools=None) -> Trajectory:
    instance = Instance(instance_id="i", repo="o/shop", base_commit="c", problem_statement=ISSUE)
    localizer = CoSilLocalizer(Setup(model, agent or Agent(), tools or Tools()))
    return await localizer.localize(instance, repository, seed=3)


async def test_files_then_calls_along_the_graph_then_the_ranking(repository):
    model, requests = scripted(
        start="I would look at price_of.",
        call=[
            "get_code_of_class_function('shop/basket.py', 'Basket', 'total')",
            "get_code_of_file_function('shop/rounding.py', 'round_price')",
        ],
        rank=RANKED,
    )
    trajectory = await localized(repository, model)
    assert [kind for kind, _ in requests] == ["files", "reflection", "start", "call", "prune", "call", "prune", "call", "rank"]
    assert (trajectory.stop, trajectory.error, trajectory.mode, trajectory.seed) == ("answer", None, "sequential", 3)
    assert [one.entity for one in trajectory.answer.modify] == [
        "shop/rounding.py::round_price", "shop/basket.py::Basket.total", "shop/prices.py",
    ]  # fmt: skip
    seen = [turn.observations[0] for turn in trajectory.turns if turn.observations]
    assert [one.entities for one in seen] == [
        ["shop/basket.py:6", "shop/basket.py:7"],
        ["shop/rounding.py:1", "shop/rounding.py:2"],
    ]
    assert [(one.gain_turn, one.gain_call) for one in seen] == [(1, 1), (1, 1)]
    assert Trajectory.model_validate_json(trajectory.model_dump_json()) == trajectory


async def test_what_each_question_shows(repository):
    model, requests = scripted(call=["get_code_of_file_function('shop/prices.py', 'price_of')"])
    await localized(repository, model)
    asked = dict(requests)
    assert "shop/\n  __init__.py\n  basket.py\n  prices.py\n  rounding.py\n" in asked["files"][-1].content
    assert (
        "file: shop/basket.py\n  imports of the project: shop/prices.py\n  imports from outside: os"
        in asked["reflection"][-1].content
    )
    assert "imported by, of these files: shop/basket.py" in asked["reflection"][-1].content
    assert [message.role for message in asked["start"]] == ["system", "user"]
    assert "functions outside of classes: make\n  methods of Basket: total, fee" in asked["start"][-1].content
    after = asked["call"][-1].content
    assert "shop/prices.py, lines 4-5\ndef price_of(item):\n    return rounding.round_price(item.price)" in after
    assert "It calls: shop/rounding.py::round_price\nIt is called, as far as is known, by: shop/basket.py::Basket.total" in after
    assert "You have 9 calls left" in after
    roles = [message.role for message in asked["rank"]]
    assert roles == ["system", *["user", "assistant"] * ((len(roles) - 2) // 2), "user"]


async def test_pruned_code_is_not_sent_again(repository):
    model, requests = scripted(
        call=["get_code_of_class('shop/basket.py', 'Basket')", "get_code_of_file_function('shop/prices.py', 'unused')"],
        prune=["```\nTrue\n```", "It is not related.\n```\nFalse\n```"],
    )
    await localized(repository, model)
    last = "\n".join(message.content for message in requests[-1][1])
    assert "class Basket:\n" in last
    assert "def unused" not in last
    assert "nothing to do with the issue: it is left out" in last


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("get_code_of_class('shop/basket.py', 'Bag')", "no class Bag in shop/basket.py; there is: Basket"),
        (
            "get_code_of_class_function('basket.py', 'Basket', 'sum')",
            "no method of Basket sum in shop/basket.py; there is: total, fee",
        ),
        ("get_code_of_file_function('no.py', 'f')", "no file no.py; file_name is one of those listed"),
        ("get_code_of_file_function('../../etc/passwd', 'f')", "no file ../../etc/passwd"),
        ("get_code_of_file_function('shop/basket.py')", "takes ('file_name', 'func_name')"),
        ("I should look at the basket", "No call could be read from that."),
    ],
)
async def test_a_useless_call_is_told_what_was_wrong_and_asks_nobody_to_prune(repository, call, told):
    model, requests = scripted(call=[call])
    trajectory = await localized(repository, model)
    assert told in [messages[-1].content for kind, messages in requests if kind == "call"][1]
    assert "prune" not in [kind for kind, _ in requests]
    assert trajectory.stop == "answer"


async def test_a_class_or_method_is_shown_where_a_function_was_asked_for(repository):
    outlines = outlines_of(repository)
    tools = SearchTools(outlines, CallGraph(outlines), sorted(FILES), 4000)
    whole = await tools.call("get_code_of_file_function", {"file_name": "shop/basket.py", "func_name": "Basket"})
    assert whole.output.startswith("shop/basket.py, lines 5-10\nclass Basket:")
    method = await tools.call("get_code_of_file_function", {"file_name": "shop/basket.py", "func_name": "fee"})
    assert method.entities == ["shop/basket.py:9", "shop/basket.py:10"]
    listed = await tools.call("get_functions_of_class", {"file_name": "shop/basket.py", "class_name": "Basket"})
    assert listed.output == "methods of Basket in shop/basket.py: total, fee"
    assert listed.entities == ["shop/basket.py:6", "shop/basket.py:9"]
    assert tools.neighbours() == (["shop/prices.py::price_of"], [])


async def test_a_call_that_was_made_before_earns_nothing(repository):
    call = "get_code_of_file_function('shop/prices.py', 'price_of')"
    model, _ = scripted(call=[call, call.replace("'", '"')])
    trajectory = await localized(repository, model)
    seen = [turn.observations[0] for turn in trajectory.turns if turn.observations]
    assert "was made before" in seen[1].error
    assert [one.gain_turn for one in seen] == [1, 0]


async def test_a_list_in_the_wrong_format_is_asked_for_again(repository):
    model, requests = scripted(files="The basket, I guess", format="```\nshop/baskets.py\n```", reflection="no idea")
    trajectory = await localized(repository, model)
    assert [kind for kind, _ in requests][:3] == ["files", "format", "reflection"]
    assert "The basket, I guess" in requests[1][1][-1].content
    assert trajectory.answer.files == ["shop/basket.py"]


async def test_the_search_ends_early_without_files_or_calls(repository):
    for said, questions, files in (
        ({"files": "?", "format": "?"}, ["files", "format"], None),
        (
            {"call": ["Hm.", "Hm."] * 9, "rank": "I do not know."},
            ["files", "reflection", "start", "call", "call", "rank"],
            ["shop/basket.py", "shop/prices.py"],
        ),
    ):
        model, requests = scripted(**said)
        trajectory = await localized(repository, model)
        assert [kind for kind, _ in requests] == questions
        assert (trajectory.stop, trajectory.error) == ("answer" if files else "no_answer", None)
        assert (trajectory.answer and [one.entity for one in trajectory.answer.modify]) == files


async def test_requests_stay_below_the_context(tmp_path):
    from fusesearch.search.repository import Repository

    body = "\n".join(f"    x{i} = {i} * value  # so that it is long" for i in range(120))
    for number in range(60):
        (tmp_path / f"m{number}.py").write_text("\n".join(f"def f{i}(value):\n{body}\n" for i in range(20)))
    agent = Agent(max_context_tokens=6000, max_new_tokens=200)
    model, requests = scripted(
        files="```\nm1.py\nm2.py\n```", reflection="```\nm1.py\nm2.py\n```",
        call=[f"get_code_of_file_function('m1.py', 'f{i}')" for i in range(20)], rank="```\nm1.py\nfunction: f3\n```",
    )  # fmt: skip
    trajectory = await localized(Repository(tmp_path), model, agent=agent)
    assert trajectory.answer.functions == ["m1.py::f3"]
    for _, messages in requests:
        assert sum(len(message.content) for message in messages) < 4 * agent.max_context_tokens
    assert 1 < sum(kind == "call" for kind, _ in requests) < 10
    assert "more lines are not shown" in trajectory.turns[3].observations[0].output


WHOLE = {"file_name": "a.py", "class_name": "B"}


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("get_code_of_class('a.py', 'B')", "get_code_of_class", WHOLE),
        ("```python\nget_code_of_class(a.py, B)\n```", "get_code_of_class", WHOLE),
        ("I call `get_code_of_class(class_name='B', file_name=\"a.py\")`.", "get_code_of_class", WHOLE),
        ("exit()", "exit", {}),
        (format_calls([("get_code_of_class", WHOLE)]), "get_code_of_class", WHOLE),
        ("<think>exit()</think>get_functions_of_class('a.py','B')", "get_functions_of_class", WHOLE),
    ],
)
def test_calls_are_read_however_they_are_quoted(text, name, arguments):
    call = read_call(text, "id")
    assert (call.id, call.name, call.arguments, call.error) == ("id", name, arguments, None)


@pytest.mark.parametrize("text", ["", "get_code_of_class", "get_code_of_class('a.py'", "rm('x')", "my_exit()"])
def test_text_without_a_call_gives_no_call(text):
    assert read_call(text, "id") is None
