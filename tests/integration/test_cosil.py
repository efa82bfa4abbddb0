"""CoSIL over a real git repository: what it asks of files and functions, what its calls show, what is pruned, how it ends."""

from pathlib import Path

import pytest

from fusesearch.agents.parsing import format_calls
from fusesearch.code.calls import CallGraph
from fusesearch.code.modules import outlines_of
from fusesearch.core.schema import Trajectory
from fusesearch.localizers.cosil.tools import SearchTools, read_call
from tests.fakes.dialogue import Dialogue, localized
from tests.fakes.git import files_in

ISSUE = "`Basket.total` is wrong when `round_price` gets half a cent.\n\n### Text ###\nSee `price_of`."
FILES = files_in(Path(__file__).parent / "basket.txt")
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


async def run(repository, **replies):
    """The trajectory and the model; both files are found, and all code is kept, unless ``replies`` say otherwise."""
    found = {"files": FOUND, "reflection": FOUND, "prune": "```\nTrue\n```"}
    model = Dialogue(MARKS, found | replies, "exit()")
    return await localized("cosil", model, repository, ISSUE), model


async def test_files_then_calls_along_the_graph_then_the_ranking(repository):
    trajectory, model = await run(
        repository,
        start="I would look at price_of.",
        call=[
            "get_code_of_class_function('shop/basket.py', 'Basket', 'total')",
            "get_code_of_file_function('shop/rounding.py', 'round_price')",
        ],
        rank=RANKED,
    )
    assert model.kinds == ["files", "reflection", "start", "call", "prune", "call", "prune", "call", "rank"]
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
    _, model = await run(repository, call=["get_code_of_file_function('shop/prices.py', 'price_of')"])
    after = model.prompt("call")
    for prompt, shown in (
        (model.prompt("files"), "shop/\n  __init__.py\n  basket.py\n  prices.py\n  rounding.py\n"),
        (
            model.prompt("reflection"),
            "file: shop/basket.py\n  imports of the project: shop/prices.py\n  imports from outside: os",
        ),
        (model.prompt("reflection"), "imported by, of these files: shop/basket.py"),
        (model.prompt("start"), "functions outside of classes: make\n  methods of Basket: total, fee"),
        (after, "shop/prices.py, lines 4-5\ndef price_of(item):\n    return rounding.round_price(item.price)"),
        (after, "It calls: shop/rounding.py::round_price\nIt is called, as far as is known, by: shop/basket.py::Basket.total"),
        (after, "You have 9 calls left"),
    ):
        assert shown in prompt
    started, ended = ([message.role for message in dict(model.asked)[kind]] for kind in ("start", "rank"))
    assert started == ["system", "user"]
    assert ended == ["system", *["user", "assistant"] * ((len(ended) - 2) // 2), "user"]


async def test_pruned_code_is_not_sent_again(repository):
    _, model = await run(
        repository,
        call=["get_code_of_class('shop/basket.py', 'Basket')", "get_code_of_file_function('shop/prices.py', 'unused')"],
        prune=["```\nTrue\n```", "It is not related.\n```\nFalse\n```"],
    )
    last = "\n".join(message.content for message in model.asked[-1][1])
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
    trajectory, model = await run(repository, call=[call])
    assert told in [messages[-1].content for kind, messages in model.asked if kind == "call"][1]
    assert "prune" not in model.kinds
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
    trajectory, _ = await run(repository, call=[call, call.replace("'", '"')])
    seen = [turn.observations[0] for turn in trajectory.turns if turn.observations]
    assert "was made before" in seen[1].error
    assert [one.gain_turn for one in seen] == [1, 0]


async def test_a_list_in_the_wrong_format_is_asked_for_again(repository):
    trajectory, model = await run(
        repository, files="The basket, I guess", format="```\nshop/baskets.py\n```", reflection="no idea"
    )
    assert model.kinds[:3] == ["files", "format", "reflection"]
    assert "The basket, I guess" in model.prompt("format")
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
        trajectory, model = await run(repository, **said)
        assert model.kinds == questions
        assert (trajectory.stop, trajectory.error) == ("answer" if files else "no_answer", None)
        assert (trajectory.answer and [one.entity for one in trajectory.answer.modify]) == files


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
