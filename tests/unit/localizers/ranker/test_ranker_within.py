"""Which files an answer may name: by their paths, languages, changes and tests."""

from __future__ import annotations

import pytest

from fusesearch import context, localize
from fusesearch.core.errors import DataError, OptionError
from fusesearch.localizers.ranker.history import changed_since
from fusesearch.localizers.ranker.within import within
from fusesearch.search.repository import Repository
from tests.fakes.git import committed, git, write

FILES = {
    "shop/cart.py": "def total(prices):\n    return sum(prices)\n",
    "shop/pages/[id]/cart.ts": "export function total(prices: number[]): number {\n  return prices[0];\n}\n",
    "lib/cart.h": "static int total(int price) { return price; }\n",
    "lib/pay.c": "int pay(void) { return total(1); }\n",
    "tests/test_cart.py": "from shop.cart import total\n\n\ndef test_total():\n    assert total([1]) == 1\n",
}
NEWER = {"lib/pay.c": "int pay(void) { return total(2); }\n"}
ISSUE = "total of the prices in the cart is wrong: `total` adds the prices twice"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    folder = tmp_path_factory.mktemp("within")
    committed(folder, FILES)
    git(folder, "tag", "v1")
    committed(folder, NEWER)
    return folder


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        ({}, sorted(FILES)),
        ({"path": "shop"}, ["shop/cart.py", "shop/pages/[id]/cart.ts"]),
        ({"path": "./shop/pages/[id]/, lib/*.c"}, ["lib/pay.c", "shop/pages/[id]/cart.ts"]),
        ({"path": "shop/**/*.py"}, ["shop/cart.py"]),
        ({"path": "cart.*"}, ["lib/cart.h", "shop/cart.py", "shop/pages/[id]/cart.ts"]),
        ({"lang": "C++"}, ["lib/cart.h"]),
        ({"lang": "c,TypeScript"}, ["lib/cart.h", "lib/pay.c", "shop/pages/[id]/cart.ts"]),
        ({"lang": "py", "no_tests": True}, ["shop/cart.py"]),
        ({"since": "v1"}, ["lib/pay.c"]),
        ({"since": "3 weeks"}, sorted(FILES)),
    ],
)
def test_files_that_fit_all_filters(tree, filters, left):
    repository = within(Repository(tree), **filters)
    assert [file for file in sorted(repository.files()) if repository.allowed(file)] == left


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"path": "nowhere"}, "^path: no file here fits --path$"),
        ({"path": "shop", "lang": "c"}, "^path: no file here fits --path --lang$"),
        ({"since": "2090-01-01"}, "^since: no file"),
        *(({"since": odd}, "^since: .* is no revision here, and no date") for odd in ("soon", "--all", "v1..HEAD", "HEAD:lib")),
    ],
)
def test_what_leaves_no_file_is_refused(tree, filters, said):
    with pytest.raises(OptionError, match=said):
        within(Repository(tree), **filters)


def test_a_tree_without_history_says_so_and_a_name_that_nothing_allowed_has(tree, tmp_path):
    with pytest.raises(DataError, match=r"^nothing of pay fits: allow more tokens or other files$"):
        context(tree, "pay", path="tests")
    with pytest.raises(OptionError, match="there is no git history here"):
        changed_since(Repository(write(tmp_path, FILES)), "3 weeks")


@pytest.mark.parametrize(
    ("filters", "paths"),
    [({}, {*FILES}), ({"path": "lib"}, {"lib/cart.h", "lib/pay.c"}), ({"lang": "ts"}, {"shop/pages/[id]/cart.ts"})],
)
def test_answers_lose_other_files_and_stay_as_they_are(tree, filters, paths):
    every = localize(tree, ISSUE)
    assert localize(tree, ISSUE, **filters).places == [place for place in every.places if place.path in paths]
    assert {one.path for one in localize(tree, ISSUE, localizer="lexical", **filters).modify} <= paths
    assert {one.path for one in context(tree, ISSUE, **filters).excerpts} <= paths
    assert {one.path for one in context(tree, "total", **filters).excerpts} == paths
