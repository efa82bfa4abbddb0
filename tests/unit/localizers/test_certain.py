"""Answers that the code settles, and candidates where it does not, on small trees."""

import os

import pytest

from fusesearch.localizers.answerers.asked import read
from fusesearch.localizers.answerers.certain import find
from fusesearch.search.repository import Repository

TREE = {
    "shop/__init__.py": "from .cart import Cart as Basket\nfrom .cart import *\nfrom . import money\n",
    "shop/money.py": "RATE = 0.19\nTABLE = {}\nTABLE['de'] = RATE\nNAMES = ('a', 'b')\nLOW, HIGH = 1, 9\nCURRENT = 1\n\n\n"
                     "def switch():\n    global CURRENT\n    CURRENT = 2\n\n\ndef tax(net, rate=RATE, *, places=2, kind='vat'):\n"
                     "    return round(net * rate, places)\n",
    "shop/cart.py": "import sys\nfrom dataclasses import dataclass, field\nfrom shop import money\nfrom shop.money import tax as levy\n\n\n"
                    "class Cart:\n    limit: int = 3\n\n    def __init__(self, size=8):\n        self.size = size\n\n"
                    "    def total(self, deep=True):\n        return levy(self.sum())\n\n    def sum(self):\n        return money.tax(1)\n\n"
                    "    @property\n    def weight(self):\n        return 1\n\n\n"
                    "@dataclass\nclass Item:\n    name: str\n    price: float = 1.5\n    tags: list = field(default_factory=list)\n\n\n"
                    "if sys.platform == 'win32':\n    def lock(wait=1): ...\nelse:\n    def lock(wait=2): ...\n",
    "shop/more/__init__.py": "",
    "shop/more/big.py": "import shop\nfrom shop import Basket\n\n\nclass Cart(Basket):\n    def total(self, deep=False):\n"
                        "        return super().total()\n\n\nclass Huge(shop.more.big.Cart):\n    total = None\n\n\nclass Plain(Basket):\n    pass\n",
    "shop/more/outer.py": "from elsewhere import Base\nfrom shop.more.big import Plain\n\n\nclass Odd(Base, Plain):\n    pass\n\n\n"
                          "class Even(Plain):\n    def __init__(self):\n        self.total = len\n",
    "tests/test_shop.py": "from shop.money import tax\n\n\ndef lookup(): ...\n\n\ndef test_tax():\n    assert tax(1) == 0\n    list(map(tax, []))\n",
    "shop/lookup.py": "def lookup(cart, key='k'):\n    return cart.sum()\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tree")
    written(folder, TREE)
    return Repository(folder)


def written(folder, tree):
    for path, text in tree.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("what is the default of rate in shop.money.tax?", ["0.19"]),
        ("what is the default of places in tax", ["2"]),
        ("what does kind of TAX default to?", ["'vat'"]),
        ("what is the default of rate in shop.cart.levy", ["0.19"]),
        ("what is the default of size in shop.Basket", ["8"]),
        ("what is the default of size in shop.more.outer.Plain", ["8"]),
        ("what is the default of deep in shop.cart.Cart.total", ["True"]),
        ("what is the default of deep in shop.more.big.Cart.total", ["False"]),
        ("what is the default of price in Item", ["1.5"]),
        ("what is the default of name in Item", []),
        ("what is the default of net in tax", []),
        ("what is the default of key in lookup", ["'k'"]),
        ("what is the value of shop.money.RATE", ["0.19"]),
        ("what is the value of HIGH", ["9"]),
        ("what is the value of NAMES", ["('a', 'b')"]),
        ("where is shop.Basket defined", ["shop/cart.py::Cart"]),
        ("where is shop.cart.levy defined", ["shop/money.py::tax"]),
        ("where is shop.Item defined", ["shop/cart.py::Item"]),
        ("where is Plain.sum defined", ["shop/cart.py::Cart.sum"]),
        ("where is lookup defined", ["shop/lookup.py::lookup"]),
        ("where is shop/more/big.py::Cart defined", ["shop/more/big.py::Cart"]),
        ("who calls tax", ["shop/cart.py::Cart.sum", "shop/cart.py::Cart.total", "tests/test_shop.py::test_tax"]),
        ("who calls switch", []),
        ("what overrides shop.Basket.total", ["shop/more/big.py::Cart", "shop/more/big.py::Huge"]),
        ("what overrides shop.Basket.sum", []),
        ("which definition of sum runs for an instance of Huge", ["shop/cart.py::Cart.sum"]),
    ],
)  # fmt: skip
def test_what_the_code_settles(shop, question, values):
    finding = find(read(question), shop)
    assert (finding.certain, sorted(finding.values)) == (True, values), finding.text()
    assert finding.text()


@pytest.mark.parametrize(
    ("question", "said", "candidates"),
    [
        ("where is Cart.total defined", "has 2 definitions", {"shop/cart.py::Cart.total", "shop/more/big.py::Cart.total"}),
        ("what is the default of wait in shop.cart.lock", "several definitions", {"shop/cart.py::lock"}),
        ("what is the default of other in tax", "no parameter `other`", set()),
        ("what is the default of tags in Item", "not certain", {"shop/cart.py::Item.tags"}),
        ("what is the default of size in shop.more.outer.Odd", "not certain", {"shop/more/outer.py::Odd"}),
        ("what is the value of CURRENT", "not set once", {"shop/money.py::CURRENT"}),
        ("what is the value of shop.money.TABLE", "not set once", {"shop/money.py::TABLE"}),
        ("what is the value of tax", "is no constant", {"shop/money.py::tax"}),
        ("who calls shop.cart.Cart.sum", "may", {"shop/cart.py::Cart.total", "shop/lookup.py::lookup"}),
        ("who calls Cart.weight", "is a property", {"shop/cart.py::Cart.weight"}),
        ("which definition of total runs for an instance of Even", "not certain", {"shop/cart.py::Cart.total"}),
        ("which definition of sum runs for an instance of Odd", "not certain", {"shop/cart.py::Cart.sum"}),
        ("which classes inherit from nothing.Here", "is not defined", set()),
        ("where is elsewhere.Base defined", "is not defined", set()),
        ("where is shop.more.outer.Base defined", "comes from outside: elsewhere.Base", set()),
        ("what overrides shop.Basket.missing", "has no `missing`", {"shop/cart.py::Cart"}),
    ],
)  # fmt: skip
def test_what_the_code_does_not_settle(shop, question, said, candidates):
    finding = find(read(question), shop)
    assert (finding.certain, finding.values) == (False, [])
    assert said in finding.text()
    assert {location.entity for location in finding.candidates} >= candidates


HOSTILE = {
    "a.py": "from b import *\nfrom b import x\n",
    "b.py": "from a import *\nfrom a import x\n",
    "loop.py": "class A(B): ...\nclass B(A):\n    def m(self): ...\nclass C(C):\n    def m(self): ...\n",
    "deep.py": "x = " + "-" * 3000 + "1\ndef broad(p=" + "(" * 90 + "1" + ")" * 90 + "): ...\n",
    "broken.py": "def half(:\n  x = known\n",
    "known.py": "def known(p=1): ...\n",
    "made.py": "class Base:\n    def m(self): ...\nMade = type('Made', (Base,), {'m': 1})\nclass Of(make(Base)):\n    def m(self): ...\n",
}


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("where is a.x defined", "too much code"),
        ("which definition of m runs for an instance of loop.A", "not certain"),
        ("which definition of m runs for an instance of loop.C", "not certain"),
        ("who calls known", "broken.py: cannot be read"),
        ("what overrides Base.m", "?"),
    ],
)
def test_hostile_code_has_no_certain_answer(tmp_path, question, said):
    written(tmp_path, HOSTILE)
    os.symlink("/etc", tmp_path / "link")
    finding = find(read(question), Repository(tmp_path))
    assert not finding.certain
    assert said in finding.text()
