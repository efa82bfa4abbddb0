"""Answers that the code settles, and candidates where it does not, on small trees."""

import os

import pytest

from fusesearch.localizers.answerers.asked import read
from fusesearch.localizers.answerers.certain import find
from fusesearch.search.repository import Repository
from tests.fakes.git import write

TREE = {
    "shop/__init__.py": """\
from .cart import Cart as Basket
from .cart import *
from . import money
""",
    "shop/money.py": """\
RATE = 0.19
TABLE = {}
TABLE['de'] = RATE
NAMES = ('a', 'b')
LOW, HIGH = 1, 9
CURRENT = 1


def switch():
    global CURRENT
    CURRENT = 2


def tax(net, rate=RATE, *, places=2, kind='vat'):
    return round(net * rate, places)
""",
    "shop/cart.py": """\
import sys
from dataclasses import dataclass, field
from shop import money
from shop.money import tax as levy


class Cart:
    limit: int = 3

    def __init__(self, size=8):
        self.size = size

    def total(self, deep=True):
        return levy(self.sum())

    def sum(self):
        return money.tax(1)

    @property
    def weight(self):
        return 1


@dataclass
class Item:
    name: str
    price: float = 1.5
    tags: list = field(default_factory=list)


if sys.platform == 'win32':
    def lock(wait=1): ...
else:
    def lock(wait=2): ...
""",
    "shop/more/__init__.py": "",
    "shop/more/big.py": """\
import shop
from shop import Basket


class Cart(Basket):
    def total(self, deep=False):
        return super().total()


class Huge(shop.more.big.Cart):
    total = None


class Plain(Basket):
    pass
""",
    "shop/more/outer.py": """\
from elsewhere import Base
from shop.more.big import Plain


class Odd(Base, Plain):
    pass


class Even(Plain):
    def __init__(self):
        self.total = len
""",
    "tests/test_shop.py": """\
from shop.money import tax


def lookup(): ...


def test_tax():
    assert tax(1) == 0
    list(map(tax, []))
""",
    "shop/lookup.py": """\
def lookup(cart, key='k'):
    return cart.sum()
""",
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tree")
    return Repository(write(folder, TREE))


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
        ("where is Cart.total defined", "2 definitions", {"shop/cart.py::Cart.total", "shop/more/big.py::Cart.total"}),
        ("what is the default of wait in shop.cart.lock", "several definitions", {"shop/cart.py::lock"}),
        ("what is the default of other in tax", "no parameter `other`", set()),
        ("what is the default of tags in Item", "not certain", {"shop/cart.py::Item.tags"}),
        ("what is the default of size in shop.more.outer.Odd", "not certain", {"shop/more/outer.py::Odd"}),
        ("what is the value of CURRENT", "not set once", {"shop/money.py::CURRENT"}),
        ("what is the value of shop.money.TABLE", "not set once", {"shop/money.py::TABLE"}),
        ("what is the value of tax", "is not a constant", {"shop/money.py::tax"}),
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
    "star.py": "class Root:\n    def m(self): ...\nROOTS = (Root, dict)\n",
    "starred.py": "from star import ROOTS\nclass Leaf(*ROOTS):\n    def m(self): ...\n",
    "near.py": "class Twig:\n    def m(self): ...\nTWIGS = (Twig,)\nclass Bud(*TWIGS):\n    def m(self): ...\n",
    "made.py": "class Base:\n    def m(self): ...\n"
    "Made = type('Made', (Base,), {'m': 1})\nclass Of(make(Base)):\n    def m(self): ...\n",
}


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("where is a.x defined", "too much code"),
        ("which definition of m runs for an instance of loop.A", "not certain"),
        ("which definition of m runs for an instance of loop.C", "not certain"),
        ("who calls known", "broken.py: cannot be read"),
        ("what overrides Base.m", "? made.py:"),
        ("what overrides Root.m", "? starred.py:"),
        ("what overrides Twig.m", "? near.py:"),
        ("which classes inherit from Twig", "? near.py:"),
    ],
)
def test_hostile_code_has_no_certain_answer(tmp_path, question, said):
    write(tmp_path, HOSTILE)
    os.symlink("/etc", tmp_path / "link")
    finding = find(read(question), Repository(tmp_path))
    assert not finding.certain
    assert said in finding.text()
