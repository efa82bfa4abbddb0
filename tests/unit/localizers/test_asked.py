"""Questions in many words: which kind each asks for, and which names."""

import pytest

from fusesearch.localizers.answerers.asked import FORMS, Asked, read


def asked(kind, **names):
    return kind, names


WHERE = asked("exported", name="shop.cart.Cart")
CALLS = asked("callers", name="run_episode")
DEFAULT = asked("default", name="shop.find", parameter="limit")
OVERRIDES = asked("overrides", name="Cart", method="total")
INHERITED = asked("inherited", name="Cart", method="total")
SUBCLASSES = asked("subclasses", name="Cart")
VALUE = asked("value", name="shop.LIMIT")
CONSTANT = asked("constant", name="shop.find")


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("In which file is `shop.cart.Cart` defined, and under which name?", WHERE),
        ("in which file is shop.cart.Cart defined, and under which name", WHERE),
        ("Where does `shop.cart.Cart` come from: in which file, and what is it called there?", WHERE),
        ("where is shop.cart.Cart defined?", WHERE),
        ("WHERE IS `shop.cart.Cart` DEFINED", WHERE),
        ("Where's the class shop.cart.Cart defined?", WHERE),
        ('where is "shop.cart.Cart" implemented in this repo?', WHERE),
        ("Hi, can you tell me where I can find... no", None),
        ("Can you tell me where shop.cart.Cart is?", None),
        ("where can I find the definition of shop.cart.Cart?", WHERE),
        ("which file defines shop.cart.Cart", WHERE),
        ("find the definition of `shop.cart.Cart`", WHERE),
        ("where is shop.cart.Cart()?", WHERE),
        ("where does shop.cart.Cart live?", WHERE),
        ("where is shop/cart.py::Cart defined", asked("exported", name="shop/cart.py::Cart")),
        ("where is Field defined?", asked("exported", name="Field")),
        ("what is the default of option in setting", asked("default", name="setting", parameter="option")),
        ("where is property called", asked("callers", name="property")),
        ("where is get defined", asked("exported", name="get")),
        ("Which functions and methods call `run_episode` directly?", CALLS),
        ("From which functions and methods is `run_episode` called?", CALLS),
        ("who calls run_episode?", CALLS),
        ("Who calls run_episode()?", CALLS),
        ("what calls `run_episode()`", CALLS),
        ("which functions call the function run_episode", CALLS),
        ("where is run_episode called from?", CALLS),
        ("callers of run_episode", CALLS),
        ("please list all callers of run_episode", CALLS),
        ("who's calling run_episode?", CALLS),
        ("Where do we call run_episode", CALLS),
        ("Which default value does the parameter `limit` of `shop.find` have?", DEFAULT),
        ("What is the default of `limit` in `shop.find`?", DEFAULT),
        ("what does limit of shop.find default to?", DEFAULT),
        ("what does limit default to in shop.find?", DEFAULT),
        ("What does shop.find's limit default to?", DEFAULT),
        ("what is the default value for the parameter limit of shop.find", DEFAULT),
        ("what's the default limit of shop.find?", DEFAULT),
        ("default of limit in shop.find(items, limit=3)", DEFAULT),
        ("what does shop.find.limit default to", DEFAULT),
        ("what does LIMIT default to?", asked("value", name="LIMIT")),
        ("what is the default of default in shop.find", asked("default", name="shop.find", parameter="default")),
        ("Which subclasses of `Cart`, direct or not, define their own `total`?", OVERRIDES),
        ("Which classes override the method `total` of `Cart`?", OVERRIDES),
        ("what overrides Cart.total?", OVERRIDES),
        ("who overrides Cart.total()", OVERRIDES),
        ("where is Cart.total overridden?", OVERRIDES),
        ("which subclasses override total of Cart", OVERRIDES),
        ("overrides of Cart.total", OVERRIDES),
        ("which subclasses of Cart override total?", OVERRIDES),
        ("Which definition of `total` runs for an instance of `Cart`?", INHERITED),
        ("`Cart` inherits `total`. Where is the method that it gets?", INHERITED),
        ("which implementation of total is used by Cart?", INHERITED),
        ("where does Cart get total from?", INHERITED),
        ("which total does Cart use", INHERITED),
        ("which classes inherit from Cart?", SUBCLASSES),
        ("subclasses of Cart", SUBCLASSES),
        ("what extends `Cart`", SUBCLASSES),
        ("what is the value of shop.LIMIT?", VALUE),
        ("What is `shop.LIMIT` set to?", VALUE),
        ("What is the value of the module-level constant that `shop.find` uses?", CONSTANT),
        ("`shop.find` uses one constant that is defined at the top of a module. What is its value?", CONSTANT),
        ("How are results cached?", None),
        ("Why does Cart.total call find twice?", None),
        ("where is it defined?", None),
        ("what is this?", None),
        ("who calls what?", None),
        ("where is `../../etc/passwd` defined", None),
        ("where is `a; rm -rf /` defined", None),
        ("where is \x00\x00 defined", None),
        ("where is `` defined?", None),
        ("?", None),
        ("where is " + "a" * 5000 + " defined", None),
        ("`" * 1000, None),
        ("who calls " * 100, None),
    ],
)  # fmt: skip
def test_the_same_question_in_other_words(text, right):
    found = read(text)
    names = {name: value for name, value in found.names.items() if value} if found else {}
    assert ((found.kind, names) if found else None) == right


def test_every_form_that_is_shown_is_one():
    for kind, form in FORMS.items():
        assert read(form.replace("CLASS", "Cart").replace("METHOD", "total")).kind == kind


def test_a_question_of_mined_words_keeps_its_code():
    text = "Which exception does this raise, and in which function is it raised?\n\n```python\nfind(3)\n```\n"
    assert read(text) == Asked("raises", {"code": "find(3)"})


@pytest.mark.parametrize(
    ("text", "bare"), [("who calls the shots", True), ("who calls `shots`", False), ("who calls run_it", False)]
)
def test_an_ordinary_word_without_quotes_may_be_no_name(text, bare):
    assert read(text).bare is bare
