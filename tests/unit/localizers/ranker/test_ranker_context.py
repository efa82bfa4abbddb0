"""What to read for an issue: which parts, never more than the budget, and only lines that the files have."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.code.heads import LINE_CHARS
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Context
from fusesearch.localizers.ranker.context import LEAST_TOKENS, MOST_TOKENS, context_of
from fusesearch.localizers.ranker.excerpts import tokens_of
from fusesearch.search.repository import Repository
from tests.fakes.git import write

PYTHON = {
    "shop/cart.py": (
        "from shop import tax\n\n\nclass Cart:\n    def __init__(self, items):\n        self.items = items\n\n"
        "    def total(self):\n        return self._sum() + tax.rate_of(self)\n\n"
        "    def _sum(self):\n        return sum(self.items)\n"
    ),
    "shop/tax.py": "def rate_of(cart):\n    return 1\n\n\ndef unused():\n    return 2\n",
    "shop/pay.py": "from shop.cart import Cart\n\n\ndef checkout(items):\n    return Cart(items).total()\n",
}


def entities(found: Context, kind: str) -> list[str]:
    return [f"{one.path}::{one.function}" if one.function else one.path for one in found.excerpts if one.kind == kind]


def read_for(issue: str, tokens: int, folder: Path, files: dict[str, str]) -> Context:
    return context_of(issue, Repository(write(folder, files)), tokens, folder / "index")


def test_the_function_stands_first_then_what_it_calls_and_its_callers(tmp_path: Path):
    """In other languages too, as the context of a name says."""
    issue = "`Cart.total` returns a wrong number\n"
    found, everything = (read_for(issue, tokens, tmp_path, PYTHON) for tokens in (110, 4000))
    assert entities(found, "function")[0] == entities(everything, "function")[0] == "shop/cart.py::Cart.total"
    shown = {f"{one.path}::{one.function}" for one in everything.excerpts}
    assert {"shop/cart.py::Cart._sum", "shop/tax.py::rate_of", "shop/pay.py::checkout"} <= shown
    assert found.tokens <= 110


def test_heads_say_whose_they_are_with_path_and_lines(tmp_path: Path):
    long = "def rate_of(cart):\n" + "    rate = 1\n" * 400 + "    return rate\n"
    files = {**PYTHON, "shop/tax.py": long}
    found = read_for("`Cart.total` returns a wrong number", 600, tmp_path, files)
    assert "## shop/cart.py::Cart.total calls\nshop/tax.py:1  rate_of: def rate_of(cart):" in found.text
    (callee,) = [one for one in found.excerpts if one.kind == "callee"]
    assert (callee.lines, callee.shown, callee.of) == ((1, 402), [(1, 1)], "shop/cart.py::Cart.total")


def test_a_long_function_is_cut_around_the_lines_that_the_issue_or_its_traceback_names(tmp_path: Path):
    body = "".join(f"    filler_{number} = {number}\n" for number in range(500))
    files = {"a.py": f"def convert(value):\n{body}    if value.currency_rounding:\n        return None\n{body}    return value\n"}
    found = read_for("`convert` ignores currency_rounding", 300, tmp_path, files)
    (one,) = [one for one in found.excerpts if one.kind == "function"]
    assert "    if value.currency_rounding:\n        return None" in one.text
    assert one.text.startswith("def convert(value):\n")
    assert re.search(r"^\.\.\. lines \d+-499 are left out$", one.text, re.MULTILINE)
    assert one.lines == (1, 1004)
    trace = 'Crash\n\n```\nTraceback (most recent call last):\n  File "/x/a.py", line 300, in convert\nValueError: no\n```\n'
    assert "filler_298 = 298" in read_for(trace, 300, tmp_path, files).text


def test_an_issue_that_says_too_little_has_nothing_to_read_and_none_or_a_budget_out_of_bounds_is_refused(tmp_path: Path):
    repository = Repository(write(tmp_path, PYTHON))
    for issue in ("it is broken", "### Describe the bug\n"):
        assert context_of(issue, repository, 4000, tmp_path / "index") == Context(budget=4000)
    for issue, tokens in ((" \n", 4000), ("x", LEAST_TOKENS - 1), ("x", MOST_TOKENS + 1)):
        with pytest.raises(DataError):
            context_of(issue, repository, tokens)


def test_a_file_without_functions_counts_as_a_whole(tmp_path: Path):
    files = {"limits.py": "MAX_ROWS = 10\nMAX_COLUMNS = 20\n", "other.py": "def f():\n    return 1\n"}
    found = read_for("`MAX_COLUMNS` in limits.py is too small", 400, tmp_path, files)
    assert entities(found, "function")[0] == "limits.py"
    assert "MAX_COLUMNS = 20" in found.text


def test_hostile_files_steer_no_terminal_and_fit_the_budget(tmp_path: Path):
    files = {
        "escape.py": "def perimeter(side):\n    '\x1b[2J\u202e'\n    return 3 * side\n",
        "minified.js": "function perimeter(side){return 3*side};" * 2_000,
        "star.py": "from other import *\n" * 3 + "def perimeter(side):\n    return perimeter(side)\n",
        "other.py": "from star import *\ndef area(side):\n    return perimeter(side)\n",
        "broken.py": "def perimeter(side:\n  '''",
    }
    found = read_for("perimeter(3) returns 9", 2000, tmp_path, files)
    assert found.tokens <= 2000
    assert all(character.isprintable() or character in "\n\t" for character in found.text)


NAMES = st.sampled_from(["perimeter", "area", "side", "value", "total", "Ünïcode", "x" * 400])
LINES = st.lists(st.builds("{} = {}({})".format, NAMES, NAMES, NAMES), min_size=1, max_size=60)
FUNCTIONS = st.lists(st.tuples(NAMES, LINES), min_size=1, max_size=8)


@given(st.lists(FUNCTIONS, min_size=1, max_size=4), st.integers(LEAST_TOKENS, 3000), st.sampled_from(["\n", "\r\n"]))
def test_the_budget_holds_and_all_lines_are_those_of_the_files(
    tmp_path_factory: pytest.TempPathFactory, modules: list[list[tuple[str, list[str]]]], tokens: int, newline: str
):
    root = tmp_path_factory.mktemp("tree")
    files = {
        f"m{number}.py": newline.join(
            row for name, lines in functions for row in (f"def {name}(side):", *(f"    {line}" for line in lines), "")
        )
        for number, functions in enumerate(modules)
    }
    issue = "`perimeter` of m0.py returns a wrong total\n"
    found = read_for(issue, tokens, root, files)
    assert context_of(issue, Repository(root), tokens, root / "index") == found
    assert tokens_of(found.text) == found.tokens <= tokens
    assert all(count == 1 for count in Counter((one.path, one.lines) for one in found.excerpts).values())
    for one in found.excerpts:
        source = files[one.path].split("\n")
        rows = [row for row in one.text.split("\n") if not re.fullmatch(r"\.\.\. lines \d+-\d+ are left out", row)]
        numbers = [number for first, last in one.shown for number in range(first, last + 1)]
        assert len(rows) == len(numbers)
        for row, number in zip(rows, numbers, strict=True):
            line = source[number - 1].removesuffix("\r")
            line = line.strip() if one.kind in ("callee", "outline") else line
            cut = row.endswith("…") or (one.kind in ("callee", "outline") and len(row) == LINE_CHARS)
            assert row == line or (cut and line.startswith(row.removesuffix("…")))
