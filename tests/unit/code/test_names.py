"""How files and locations are read from what a model wrote, and what they are taken to mean."""

import pytest

from fusesearch.code.names import Named, close_path, locate, match_path
from fusesearch.code.outline import outline
from fusesearch.localizers.fenced import fenced_lines, read_named, read_paths

FILES = ["src/pkg/core.py", "src/pkg/base.py", "docs/core.py", "setup.py"]
CODE = outline(
    "a.py",
    "LIMIT = 3\nclass A:\n    x = 1\n    def f(self):\n        pass\n\n    def g(self):\n        pass\n\n"
    "class B:\n    def g(self):\n        pass\n\ndef h():\n    pass\n",
)


def test_paths_are_read_inside_fences_with_whatever_stands_around_them():
    text = (
        "I think:\nother/file.py\n```python\n1. `src/a.py`\n- **b.py**: why\n\nsrc/a.py\n/repo/c/d.py\nnot a path\nfolder/\n```\n"
    )
    assert read_paths(text, 9) == ["src/a.py", "b.py", "/repo/c/d.py", "folder/"]
    assert read_paths(text, 1) == ["src/a.py"]
    assert read_paths("src/a.py\nb.py", 9) == ["src/a.py", "b.py"]
    assert read_paths("<think>```\nx.py\n```</think>\n```\ny.py\n```", 9) == ["y.py"]


def test_locations_are_read_below_their_files():
    text = "```\na.py\nfunction: A.f\nclass: B, C\nline: 10\nlines: 3-5\n\n### b.py ###\nvariable: X\nmethod: g()\nc.py::D.e\n```"
    assert [(one.path, one.kind, one.name) for one in read_named(text, 20)] == [
        ("a.py", "function", "A.f"), ("a.py", "class", "B"), ("a.py", "class", "C"), ("a.py", "line", "10"),
        ("a.py", "line", "3-5"), ("b.py", "variable", "X"), ("b.py", "function", "g"), ("c.py", "any", "D.e"),
    ]  # fmt: skip
    assert read_named("```\nfunction: f\n```", 20) == []  # a location without a file


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("function", "A.f", ("A.f", (4, 5))), ("function", "f", ("A.f", (4, 5))), ("function", "g", None),
        ("function", "B.g", ("B.g", (11, 12))), ("class", "A.f", ("A.f", (4, 5))), ("class", "A", (None, (2, 8))),
        ("function", "A", (None, (2, 8))), ("any", "h", ("h", (14, 15))), ("variable", "LIMIT", (None, (1, 1))),
        ("function", "LIMIT", (None, (1, 1))), ("line", "5", ("A.f", (5, 5))), ("line", "3", (None, (3, 3))),
        ("line", "12-11", ("B.g", (11, 12))), ("line", "0", None), ("line", "9999", None), ("class", "Nothing", None),
    ],
)  # fmt: skip
def test_a_name_means_what_is_called_so_in_its_file(kind, name, expected):
    found = locate(Named("a.py", kind, name), CODE)
    assert (found and (found.function, found.lines)) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("src/pkg/core.py", "src/pkg/core.py"), ("/repo/src/pkg/core.py", "src/pkg/core.py"), ("./setup.py", "setup.py"),
        ("base.py", "src/pkg/base.py"), ("core.py", None), ("/home/me/src/pkg/base.py", "src/pkg/base.py"),
        ("/etc/passwd", None), ("other/setup.py", None), ("../src/pkg/base.py", None), ("", None), ("/", None),
    ],
)  # fmt: skip
def test_a_path_means_one_file_or_none(name, expected):
    assert match_path(name, FILES, frozenset(FILES)) == expected
    assert (close_path("src/pkg/cores.py", FILES), close_path("nothing", FILES)) == ("src/pkg/core.py", None)


def test_a_text_of_megabytes_is_read_up_to_a_limit():
    for text in ["`" * 3_000_000, "a.py\n" * 500_000, "- " * 1_000_000, "function: " + "a." * 1_000_000, "x/" * 1_000_000]:
        assert len(fenced_lines(text)) <= 400
        read_named(text, 50)
        read_paths(text, 50)
