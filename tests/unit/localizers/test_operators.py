"""Where operators are defined, by what each language calls the function."""

from pathlib import Path

import pytest

from fusesearch.localizers.answerers.asked import read
from fusesearch.localizers.answerers.beside import beside
from fusesearch.localizers.answerers.by_name import by_name
from fusesearch.localizers.answerers.certain import find
from fusesearch.localizers.answerers.operators import every_spelling, in_python, spellings
from fusesearch.search.repository import Repository
from tests.fakes.git import write

TREE = {
    "shop/point.py": "class Point:\n    def __eq__(self, other):\n        return True\n\n    def __contains__(self, key):\n"
    "        return False\n",
    "src/node.hpp": "struct Node {\n  bool operator==(const Node& other) const { return key == other.key; }\n"
    "  int operator [](int key) const { return key; }\n  Node& operator=(const Node& other) { return *this; }\n"
    "  int operator()(int x) { return x; }\n};\n"
    "inline bool operator<(const Node& a, const Node& b) { return a.key < b.key; }\n",
    "lib/doc.rb": "class Doc\n  def <=>(other)\n    date <=> other.date\n  end\n\n  def [](key)\n    @data[key]\n  end\nend\n",
    "Sources/Size.swift": "struct Size {\n    static func == (a: Size, b: Size) -> Bool {\n        return a.w == b.w\n    }\n"
    "    subscript(key: Int) -> Int {\n        return key\n    }\n}\n",
    "app/Money.kt": "class Money {\n    operator fun plus(other: Money): Money = other\n    fun minus(other: Money) = 1\n"
    "    override fun equals(other: Any?): Boolean {\n        return true\n    }\n    operator fun invoke(x: Int): Int = x\n}\n"
    "operator fun Money.times(x: Int): Money {\n    return this\n}\n",
    "app/Cart.java": "class Cart {\n    @Override\n    public boolean equals(Object other) { return true; }\n"
    "    int plus(int x) { return x; }\n}\n",
    "app/Vector.cs": "class Vector {\n    public static Vector operator+(Vector a, Vector b) { return a; }\n"
    "    public static bool operator ==(Vector a, Vector b) => true;\n"
    "    public override bool Equals(object other) { return true; }\n}\n",
    "src/mass.rs": "impl std::ops::Add<f64>\n    for Mass {\n    fn add(self, other: f64) -> Mass { self }\n}\n"
    "impl PartialEq for Mass {\n    fn eq(&self, other: &Mass) -> bool { true }\n}\n"
    "impl Bag {\n    fn add(&mut self, one: impl Add) { self.put(one) }\n}\n"
    "impl Count for Bag {\n    fn add(&self) -> u8 { 1 }\n}\n",
    "core/Show.scala": "class Show {\n  override def equals(other: Any): Boolean = true\n  def +(other: Show): Show = other\n}\n",
    "app/Link.php": "<?php\nclass Link {\n    public function offsetGet($key) { return $key; }\n}\n",
}
EQUAL = [
    "shop/point.py:2", "Sources/Size.swift:2", "app/Cart.java:3", "app/Money.kt:4", "app/Vector.cs:3", "app/Vector.cs:4",
    "core/Show.scala:2", "src/mass.rs:6", "src/node.hpp:2",
]  # fmt: skip


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return Repository(write(tmp_path_factory.mktemp("operators"), TREE))


def said(question: str, tree: Repository, folder: Path) -> list[str]:
    """What `ask` says without a model: of places their file and line."""
    asked = read(question)
    assert asked
    found = find(asked, tree)
    known = found.candidates or found.certain
    found = beside(asked, found, tree, folder) if known else by_name(asked, tree, folder) or found
    return [*filter(None, [found.said]), *(line.partition(" ")[0] for line in found.lines)]


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("==", EQUAL),
        ("Point.==", ["shop/point.py:2"]),
        ("Money.==", ["app/Money.kt:4"]),
        ("Vector.==", ["app/Vector.cs:3", "app/Vector.cs:4"]),
        ("operator==", ["app/Vector.cs:3", "src/node.hpp:2"]),
        ("Node::operator==", ["src/node.hpp:2"]),
        ("operator=", ["src/node.hpp:4"]),
        ("operator<", ["src/node.hpp:7"]),
        ("Node::operator()", ["src/node.hpp:5"]),
        ("()", ["app/Money.kt:7", "src/node.hpp:5"]),
        ("Size.==", ["Sources/Size.swift:2"]),
        ("Doc#<=>", ["lib/doc.rb:2"]),
        ("[]", ["Sources/Size.swift:5", "app/Link.php:3", "lib/doc.rb:6", "src/node.hpp:3"]),
        ("+", ["app/Money.kt:2", "app/Vector.cs:2", "core/Show.scala:3", "src/mass.rs:3"]),
        ("Money.*", ["app/Money.kt:9"]),
        ("in", ["shop/point.py:5"]),
    ],
)
def test_an_operator_is_found_by_its_sign(tree, tmp_path, name, places):
    lines = said(f"where is `{name}` defined?", tree, tmp_path)
    assert [line for line in lines if " " not in line] == places


def test_uses_of_operators_are_not_searched(tree, tmp_path):
    first, *places = said("who calls `==`?", tree, tmp_path)
    assert first == "Uses of operators are not searched. `==` is defined here:"
    assert places == EQUAL


def test_what_has_no_such_operator_says_so(tree, tmp_path):
    assert said("where is `>>` defined?", tree, tmp_path) == [
        "`>>` is not defined here: no function, class, constant or variable has that name."
    ]


def test_other_names_stay_as_they_are():
    assert spellings("total", "a.rs") == ["total"]
    assert every_spelling("total") == {"total"}
    assert (in_python("total"), in_python("a.Cart.total"), in_python("Cart.[]")) == ("total", "a.Cart.total", "Cart.__getitem__")
