"""LocAgent's tools, its answer, and what a model may write in their place."""

import pytest

from fusesearch.code.graph.facts import facts_of
from fusesearch.code.graph.linking import link
from fusesearch.code.graph.listing import Page
from fusesearch.code.names import Namer
from fusesearch.core.config import Tools
from fusesearch.localizers.locagent import read_answer
from fusesearch.localizers.locagent.arguments import TraverseGraph
from fusesearch.localizers.locagent.tools import MANY, OUTLINE_LINES, GraphTools
from fusesearch.localizers.locagent.traversal import MAX_EDGES, add_tree
from fusesearch.search.repository import Repository
from fusesearch.search.tool import MAX_ITEMS
from tests.fakes.git import write

FILES = {
    "shop/cart.py": '''\
from shop.money import Money


class Cart:
    """What is bought."""

    def __init__(self, owner):
        self.owner = owner

    def total(self):
        return sum_up(self.items())

    def items(self):
        return []


def sum_up(items):
    return Money(len(items))
''',
    "shop/money.py": (
        "class Money:\n    def __init__(self, amount):\n        self.n = amount\n\n    def rounded(self):\n        return 1\n"
    ),
    "shop/many.py": "\n".join(f"class C{n}:\n    def same(self):\n        return {n}\n" for n in range(MANY + 5)),
    "shop/long.py": "class Long:\n    def first(self):\n        pass\n" + "    x = 1\n" * OUTLINE_LINES,
    "tests/test_cart.py": "def test_total():\n    pass\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    return Repository(write(tmp_path_factory.mktemp("shop"), FILES))


@pytest.fixture
def tools(repository):
    return GraphTools(repository, Tools())


SUM_UP = "function /repo/shop/cart.py::sum_up, lines 17-18"
WRITTEN = ["sum_up", "SUM_UP", "def sum_up", "function sum_up()", "cart.sum_up", "shop.cart.sum_up"]


@pytest.mark.parametrize(
    ("name", "arguments", "shown", "hidden", "entities"),
    [
        *(("search_entity", {"terms": [term]}, [SUM_UP], [], ["shop/cart.py:17", "shop/cart.py:18"]) for term in WRITTEN),
        # many of one name are listed as ids, and one with its holder means that one
        ("search_entity", {"terms": ["same"]}, [f"C{MANY - 1}.same", f"({MANY} of "], [f"C{MANY}.same"], ["shop/many.py"]),
        ("search_entity", {"terms": ["C7.same"]}, ["C7.same, lines"], ["C8"], None),
        # words find code where no name does
        ("search_entity", {"terms": ["what is bought"]}, ["class /repo/shop/cart.py::Cart"], [], None),
        ("search_entity", {"terms": ["zzz yyy"]}, ["nothing found"], [], []),
        # a pattern keeps to files unless none matches, and lines show what holds them
        ("search_entity", {"terms": ["__init__", "rounded"], "file_pattern": "/repo/shop/**/money.py"}, [], ["cart.py"], None),
        ("search_entity", {"terms": ["rounded"], "file_pattern": "docs/*"}, ["money.py::Money.rounded"], [], None),
        ("search_entity", {"lines": [11, 2], "file_pattern": "/repo/shop/cart.py"}, ["Cart.total", "around line 2"], [], None),
        # a long class is outlined here and whole there
        ("search_entity", {"terms": ["Long"]}, [], [], ["shop/long.py:1", "shop/long.py:2"]),
        ("retrieve_entity", {"entities": ["/repo/shop/long.py::Long"]}, [], [],
         [f"shop/long.py:{line}" for line in range(1, OUTLINE_LINES + 4)]),
        # a walk leaves out tests and other types, and ids that are not there are told with close ones
        ("traverse_graph", {"start": ["/repo"], "hops": -1, "node_types": ["directory", "file"]},
         ["/repo/shop/money.py"], ["test", "::"], None),
        ("retrieve_entity", {"entities": ["shop/cart.py::Cart.totals", "tests/test_cart.py", "shop"]},
         ["no such id: shop/cart.py::Cart.totals; close: /repo/shop/cart.py::Cart", "tests are left out", "/repo/shop/money.py"],
         [], None),
    ],
)  # fmt: skip
async def test_tools_show_what_is_asked_for(tools, name, arguments, shown, hidden, entities):
    found = await tools.call(name, arguments)
    assert [text for text in shown if text not in found.output] + [text for text in hidden if text in found.output] == []
    assert entities in (None, found.entities)


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("bash", {}, "there is no tool bash"),
        ("search_entity", {}, "give terms"),
        ("search_entity", {"terms": [1]}, "must be a string"),
        ("search_entity", {"lines": [1]}, "with lines, file_pattern must be one file"),
        ("search_entity", {"terms": ["a"] * (MAX_ITEMS + 1)}, "at most"),
        ("search_entity", {"query": "x"}, "unknown argument query"),
        ("traverse_graph", {"start": []}, "start is missing"),
        ("traverse_graph", {"start": ["/repo"], "direction": "sideways"}, "must be one of downstream"),
        ("traverse_graph", {"start": ["/repo"], "hops": "far"}, "must be an integer"),
        ("traverse_graph", {"start": ["/repo"], "hops": -2}, "-1 or more"),
        ("traverse_graph", {"start": ["/repo"], "edge_types": ["calls"]}, "must be of contains"),
        ("retrieve_entity", [], "must be a JSON object"),
    ],
)
async def test_faults_are_one_line_that_says_what_is_right(tools, name, arguments, reason):
    found = await tools.call(name, arguments)
    assert reason in found.error
    assert "\n" not in found.output


def test_a_large_walk_ends_and_says_so():
    graph = link([facts_of("a.py", "\n".join(f"def f{n}(): pass" for n in range(MAX_EDGES + 10)))])
    page = Page(Tools())
    add_tree(page, graph, "a.py", TraverseGraph(("a.py",)))
    assert page.outcome().output.count("contains") == MAX_EDGES
    assert "the walk ends" in page.outcome().output


def entities(text, repository):
    return [location.entity for location in read_answer(text, Namer(repository)).modify]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "Thoughts about `shop/money.py`.\n```\nshop/cart.py\nclass: Cart\nfunction: total\nline: 14\n\n"
            "/repo/shop/money.py\nmethod: Money.rounded\n```",
            ["shop/cart.py::Cart.total", "shop/cart.py::Cart.items", "shop/money.py::Money.rounded"],  # in the order written
        ),
        ("```\nshop/gone.py\nfunction: f\nshop/cart.py\n```", ["shop/cart.py"]),
        ("```\nshop/cart.py\nfunction: nothing_like_it\n```", ["shop/cart.py"]),
        ("```\nshop/cart.py\nclass: Cart\n```", ["shop/cart.py"]),
        ("```\nshop/cart.py\nclass: Cart.total\n```", ["shop/cart.py::Cart.total"]),
        ("```\nshop/cart.py:11\n```", ["shop/cart.py::Cart.total"]),
        ("1. `shop/cart.py::sum_up`\n2. shop/cart.py:Cart.__init__", ["shop/cart.py::sum_up", "shop/cart.py::Cart.__init__"]),
        ("```python\nshop/money.py\n```\nno, rather\n```\nshop/cart.py\n```", ["shop/cart.py"]),
        ("```\nshop/cart.py\n```\n```\nx = 1\n```", ["shop/cart.py"]),
        ("<think>\nshop/money.py\n</think>\nshop/cart.py", ["shop/cart.py"]),
        ("## Locations to Modify\n- /repo/gone.py::f\n", ["gone.py::f"]),
        ("no idea", []), ("", []), ("```", []),
    ],
)  # fmt: skip
def test_answers_are_read_as_models_write_them(repository, text, found):
    assert entities(text, repository) == found
