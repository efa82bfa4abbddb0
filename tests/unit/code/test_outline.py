"""What outlines say of files: of Python, of what Python cannot parse, and of other languages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.code.outline import SUPER, outline

SOURCE = '''\
"""Docs."""
import os.path
import numpy as np
from . import sibling
from .base import Base as Parent
from .stars import *
LIMIT, OTHER = 3, 4
total: int = 0


@np.decorate
class Shape(Parent, mixins.Printable[int]):
    sides = 0

    class Corner:
        def angle(self):
            return self.shape.angle()

    @property
    def area(self):
        def inner():
            return helper()
        return super().area() + np.sum(inner()) + self.scale(os.path.join("a"))


if LIMIT:
    async def run():
        return Shape(1).area, factory()()
'''


def test_classes_and_variables_have_their_lines_and_bases():
    found = outline("pkg/shape.py", SOURCE)
    assert [(span.name, span.start, span.end) for span in found.classes] == [("Shape", 11, 23), ("Shape.Corner", 15, 17)]
    assert found.class_("Shape").bases == (("Parent",), ("mixins", "Printable"))
    assert [(span.name, span.start) for span in found.variables] == [("LIMIT", 7), ("OTHER", 7), ("total", 8)]
    assert [span.name for span in found.functions] == ["Shape.Corner.angle", "Shape.area", "run"]
    assert [span.name for span in found.members("Shape")] == ["Shape.area"]
    assert found.text(11, 12) == "@np.decorate\nclass Shape(Parent, mixins.Printable[int]):"


def test_calls_are_dotted_names_and_those_of_nested_functions_count_for_the_outer():
    calls = outline("pkg/shape.py", SOURCE).calls
    assert calls["Shape.area"] == (
        ("helper",), (SUPER, "area"), ("np", "sum"), ("inner",), ("self", "scale"), ("os", "path", "join"),
    )  # fmt: skip
    assert calls["Shape.Corner.angle"] == (("self", "shape", "angle"),)
    assert calls["run"] == (("Shape",), ("factory",))


def test_methods_of_variables_are_those_of_the_class_they_are_made_of_and_a_name_defined_twice_has_the_calls_of_both():
    assert outline("a.py", "def f():\n    one()\n\ndef f():\n    two()\n").calls["f"] == (("one",), ("two",))
    source = """\
shop = stores.Shop()
def f(a, b: "Basket", c: Card | None = None, d: list = ()):
    with open_it() as e, Session() as s:
        s.get()
    x = Order(a)
    x.pay(), b.add(), c.show(), shop.close(), a.unknown(), x.items.clear()
    self = Other()
    self.run()
"""
    assert outline("a.py", source).calls["f"] == (
        ("open_it",), ("Session",), ("Session", "get"), ("Order",), ("Order", "pay"), ("Basket", "add"), ("Card", "show"),
        ("stores", "Shop", "close"), ("a", "unknown"), ("x", "items", "clear"), ("Other",), ("Other", "run"),
    )  # fmt: skip


def test_what_does_not_parse_still_has_functions_and_the_classes_they_are_in():
    found = outline("old.py", "class A:\n    def f(self):\n        print 'x'\n\ndef g():\n    exec 'y'\n")
    assert [span.name for span in found.functions] == ["A.f", "g"]
    assert [(span.name, span.start, span.end) for span in found.classes] == [("A", 2, 3)]
    assert found.calls == {}


def test_other_languages_have_functions_and_the_classes_of_their_names():
    found = outline("a.js", "class Box {\n  open() {\n    return 1;\n  }\n}\nfunction shut() {\n}\n")
    assert [span.name for span in found.functions] == ["Box.open", "shut"]
    assert [span.name for span in found.classes] == ["Box"]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_lines_are_those_of_git(ending):
    found = outline(
        "a.py", ending.join(["x = 1", "class A:", "    def f(self):", "        return '''a\rb'''", "", "class B: pass", ""])
    )
    assert found.lines[1] == "class A:"
    assert [(span.start, span.end) for span in found.classes] == [(2, 4), (6, 6)]


FRAGMENTS = st.sampled_from(
    ["class A:", "  def f(self):", "def g(a,", "):", " return f(g)", "@d", "'''", "\r", "import a.b as c", "x = y.z()"]
)


@given(st.lists(FRAGMENTS | st.text(max_size=8), max_size=30).map("\n".join))
def test_any_text_has_an_outline_whose_spans_lie_in_it(text):
    found = outline("any.py", text)
    for span in [*found.functions, *found.classes, *found.variables]:
        assert 1 <= span.start <= span.end <= len(found.lines)
