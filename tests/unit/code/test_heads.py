"""The head of a function, without what stands before it."""

import pytest

from fusesearch.code.heads import head, signature


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@cache\n@route(\n    '/x',\n    methods=(1, 2))\ndef f(a,\n      b):\n    pass", "def f(a, b):"),
        ("@Override public int f(int x) {\n  return 1;\n}", "@Override public int f(int x)"),
        ("@Override\npublic int f(int x) {\n  return 1;\n}", "public int f(int x)"),
        ('[Suppress(\n    "Trimming",\n    Because = "x (y)")]\npublic T Add<T>(this T b)\n{\n}', "public T Add<T>(this T b)"),
        ("[Obsolete] public void X()\n{\n}", "[Obsolete] public void X()"),
        ('#[cfg_attr(\n    feature = "old",\n    deprecated(note = "no")\n)]\npub fn f(self) {\n}', "pub fn f(self)"),
        ("// why\n# what\nfn x() {\n}", "fn x()"),
        ("[a, b] = f(x => {\n  return 1\n})", "[a, b] = f(x =>"),
        ("@only", "@only"),
        (
            "@inline private[a] final def f[A](\n  x: A,\n)(implicit y: Y): Int = {\n  1\n}",
            "@inline private[a] final def f[A]( x: A, )(implicit y: Y): Int =",
        ),
        ("def f(x: Int)\n  (using Y): Int =\n  x", "def f(x: Int) (using Y): Int ="),
        ("def f(x: Int)\n  : Int =\n  x", "def f(x: Int) : Int ="),
        ("def f = xs.map(\n  g)\n", "def f = xs.map("),
        ("def run() {\n  x\n}", "def run()"),
        ("def ==(x: A) = x match {\n  case 1 =>\n}", "def ==(x: A) = x match"),
        (
            "@MainActor\n@available(iOS 13, *)\nfunc f<T>(\n  _ x: T\n) async where T: B {\n}",
            "func f<T>( _ x: T ) async where T: B",
        ),
        ("var body: some View {\n  Text(x)\n}", "var body: some View"),
        ("def add(a, b)\n  total = a + b\n  total\nend", "def add(a, b)"),
        ("def self.empty?\n  @items.none? { |one| one }\nend", "def self.empty?"),
        ("private def add(\n  # (one\n  count,\n  name: 'x'\n)\n  @n = count\nend", "private def add( count, name: 'x' )"),
        ("def add(\n  first:,\n  last:\n)\n  first\nend", "def add( first:, last: )"),
        ("def add(a = '(',\n        b = \"#{a})\")\n  a\nend", "def add(a = '(', b = \"#{a})\")"),
        ("def add a,\n    b\n  a + b\nend", "def add a, b"),
        ("def f(a,  # one (\n      b):  # two\n    return a", "def f(a,  # one ( b):  # two"),
        ("int f(int a, /* one */\n      // two\n      int b)\n{\n}", "int f(int a, /* one */ int b)"),
        ("@open(\n  1\ndef f(): pass", "@open( 1 def f(): pass"),
    ],
)  # fmt: skip
def test_comments_decorators_annotations_and_attributes_are_left_out(text, expected):
    lines = text.split("\n")
    assert signature(lines, 1, len(lines)) == expected
    first, last = head(lines, 1, len(lines))
    assert 1 <= first <= last <= len(lines)


def test_a_long_line_takes_no_longer_than_its_length():
    lines = ["@x" + " " * 1_000_000, "[" + "]" * 1_000_000, "def f(): pass"]
    assert signature(lines, 1, 3) == "def f(): pass"
