"""What to read for a name: its definitions, its callers, what it calls and its tests, in several languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from fusesearch.core.errors import DataError, OptionError
from fusesearch.core.schema import Context
from fusesearch.localizers.ranker.context import context_of, name_in
from fusesearch.search.repository import Repository
from tests.fakes.git import files_in, write

FILES = files_in(Path(__file__).parent / "shop.txt")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("trees") / "shop-1.0", FILES)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("total", ("", "total")),
        ("`shop.cart.Cart.total()`", ("", "shop.cart.Cart.total")),
        ("Cart::total", ("", "Cart.total")),
        ("Cart#paid?", ("", "Cart.paid?")),
        ("tests/test_cart.py::TestCart::test_total", ("tests/test_cart.py", "TestCart.test_total")),
        ("shop/cart.py::Cart.total", ("shop/cart.py", "Cart.total")),
        ("V.operator==", ("", "V.operator==")),
        *((text, None) for text in ("the total is wrong", "shop/cart.py", "owner/repo#12", "-", "#12", "TypeError: no", "12")),
    ],
)
def test_one_name_is_told_from_an_issue(text, name):
    assert name_in(text) == name


def found(tree: Path, name: str, tokens: int = 4000) -> Context:
    context = context_of(name, Repository(tree), tokens, tree.parent / "index")
    assert context.tokens <= tokens
    return context


def places(context: Context, kind: str) -> list[str]:
    return [f"{one.path}:{one.shown[0][0]} {one.function or ''}".rstrip() for one in context.excerpts if one.kind == kind]


ROWS = """
shop.cart.Cart.total | shop/cart.py:13 Cart.total | shop/order.py:11 pay | shop/cart.py:18 taxed | tests/test_cart.py:5 test_total
shop/order.py::Order.total | shop/order.py:5 Order.total | shop/order.py:16 ship | | tests/test_cart.py:5 test_total
x.shop.Cart.add | shop/cart.py:5 Base.add | | |
RATE | shop/cart.py:1 RATE, web/cart.js:1 RATE | shop/cart.py:19 taxed, web/cart.js:3 taxed | |
Basket#sum() | web/cart.js:5 Basket.sum | | web/cart.js:2 total |
web/cart.js::total | web/cart.js:2 total | web/cart.js:5 Basket.sum | web/cart.js:3 taxed | web/cart.test.js:2
Trolley.weigh | ts/trolley.ts:3 Trolley.weigh | ts/push.ts:1 push | ts/trolley.ts:4 Trolley.heap, ts/rate.ts:1 rateOf |
Cart.Total | go/cart.go:3 Cart.Total | go/pay.go:4 Pay | go/cart.go:4 Taxed | go/cart_test.go:5 TestTotal
go.Taxed | go/cart.go:4 Taxed | go/cart.go:3 Cart.Total, go/cart.go:10 | |
rust/src/lib.rs::Cart::total | rust/src/lib.rs:3 Cart.total | rust/src/lib.rs:6 pay | rust/src/lib.rs:5 taxed |
java/Cart.java::Cart.clear | | | |
java.Cart.total | java/Cart.java:4 Cart.total | java/Pay.java:5 Pay.pay | java/Cart.java:5 Cart.taxed |
Shop::Cart#total | ruby/cart.rb:3 Shop.Cart.total | ruby/pay.rb:2 pay | ruby/cart.rb:6 Shop.Cart.taxed |
Cart#paid? | ruby/more.rb:2 Cart.paid? | ruby/more.rb:6 told | | test/more_test.rb:1
Limit | go/vars.go:3 Limit | go/vars.go:9 Max, go/vars.go:6 | |
area | java/Shape.java:2 Shape.area, java/Square.java:2 Square.area | | |
field | cpp/field.h:1 field | cpp/field.h:4 make, cpp/field.h:3 | |
GROW | cpp/field.h:2 GROW | | |
tick | js/tick.js:1 tick | js/tick.js:3 exports | |
tock | js/tick.js:3 exports.tock | | js/tick.js:1 tick |
Sizes | go/vars.go:11 Sizes | | |
rust/src/lib.rs::taxed | rust/src/lib.rs:5 taxed | rust/src/lib.rs:3 Cart.total, rust/src/lib.rs:9 | |
cart_total | c/cart.c:2 cart_total | c/cart.c:3 pay | |
cart_t | c/cart.h:2 cart_t | c/cart.h:5, c/cart.c:2 cart_total, c/cart.c:3 pay | |
box | c/cart.c:4 box | c/cart.c:6 open | |
CART_MAX | c/cart.h:1 CART_MAX | | |
made_cart | tests/helping.py:1 made_cart | | |
"""


@pytest.mark.parametrize("row", ROWS.strip().split("\n"))
def test_definitions_callers_callees_and_tests(tree: Path, row: str):
    name, *expected = (part.strip() for part in row.split("|"))
    context = found(tree, name)
    assert [", ".join(places(context, kind)) for kind in ("definition", "caller", "callee", "test")] == expected


def test_all_definitions_are_shown_an_owner_that_does_not_fit_is_said_and_nothing_is_an_error_with_near_names(tree: Path):
    folders = {one.path.partition("/")[0] for one in found(tree, "Cart").excerpts if one.kind == "definition"}
    assert folders == {"shop", "go", "java", "ruby", "rust"}
    context = found(tree, "Sum.taxed")
    assert context.text.startswith("`Sum.taxed` is not defined here, but `taxed` is.\n\n## ")
    assert "shop/cart.py:18 taxed" in places(context, "definition")
    context = found(tree, "prices.append")
    assert context.text.startswith("`prices.append` is not defined here.\n\n## ")
    assert places(context, "use") == ["shop/cart.py:6 Base.add"]
    assert places(found(tree, "paid"), "test") == ["test/more_test.rb:2"]
    with pytest.raises(DataError, match=r"^nothing here is called taxe; near: taxed$"):
        found(tree, "taxe")


@pytest.mark.parametrize("tokens", [100, 200, 400])
def test_the_budget_holds_and_what_does_not_fit_in_full_has_its_head(tree: Path, tokens):
    context = found(tree, "total", tokens)
    assert context.tokens <= tokens
    assert len(places(context, "definition")) >= tokens // 60
    assert len({(one.path, one.lines) for one in context.excerpts}) == len(context.excerpts)


def test_a_long_class_shows_the_heads_of_its_methods(tmp_path: Path):
    line = "        x = 1\n"
    body = "".join(f"    def part_{number}(self):\n{line * 40}" for number in range(8))
    context = context_of("Long", Repository(write(tmp_path, {"a.py": f"class Long:\n{body}"})), 300, tmp_path / "index")
    assert all(f"def part_{number}(self):" in context.text for number in range(8))


IMPACT = {
    "a/core.py": "def deep(x):\n    return x\n\n\ndef unused():\n    return 1\n",
    "a/mid.py": "from a.core import deep\n\n\nclass Mid:\n    def middle(self):\n        return deep(1)\n",
    "a/top.py": "from a.mid import Mid\n\n\ndef topmost():\n    mid = Mid()\n    return mid.middle()\n",
    "a/loop.py": "from a.top import topmost\n\n\ndef one():\n    topmost()\n    return two()\n\n\ndef two():\n    return one()\n",
    "tests/test_core.py": "from a.core import deep\n\n\ndef test_deep():\n    assert deep(1) == 1\n",
    "tests/test_top.py": "from a.top import topmost\n\n\ndef test_it():\n    assert topmost() == 1\n",
    "tests/test_other.py": "def middle():\n    return 1\n\n\ndef test_other():\n    assert middle() == 1\n",
    "tests/it's.py": "from a.loop import two\n\n\ndef test_two():\n    two()\n",
}


def test_an_impact_has_callers_of_callers_step_by_step_and_the_tests_to_run(tmp_path: Path):
    repository = Repository(write(tmp_path / "tree", IMPACT))
    context = context_of("a.core.deep", repository, 1000, tmp_path / "index", impact=True)
    assert context.text.startswith("## a/core.py:1-2  deep\ndef deep(x):\n\n## Lines that call or use a/core.py::deep\n")
    assert places(context, "caller") == ["a/mid.py:6 Mid.middle"]
    assert places(context, "impact") == ["a/top.py:6 topmost", "a/loop.py:5 one", "a/loop.py:10 two"]
    assert [one.of for one in context.excerpts if one.kind == "impact"] == ["2", "3", "4"]
    assert context.text.endswith("\n\n## Tests to run\ntests/test_core.py tests/test_top.py 'tests/it'\"'\"'s.py'")
    assert context.run == ["tests/test_core.py", "tests/test_top.py", "tests/it's.py"]
    short = context_of("a.core.deep", repository, 100, tmp_path / "index", impact=True)
    assert (short.tokens <= 100, short.run) == (True, context.run[: len(short.run)])
    with pytest.raises(OptionError, match=r"^impact: give a name"):
        context_of("the total is wrong", repository, impact=True)
