"""Answers of questions: read from any text, and scored without credit for guesses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.agents.answers import format_values, parse_values, share_right
from fusesearch.core.schema import Expected

PLAIN = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="`*-+•"), min_size=1, max_size=20)
LITERALS = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)


def expected(kind, *values):
    return Expected(family="default", kind=kind, values=list(values))


@given(st.lists(PLAIN, min_size=1, max_size=5, unique=True))
def test_a_written_answer_is_read_back(values):
    assert parse_values(f"Found it.\n\n{format_values(values)}").values == values


@given(st.text(max_size=300))
def test_any_text_can_be_read(text):
    answer = parse_values(f"## Answer\n{text}")
    for value in answer.values:
        for kind in ("value", "entity", "set"):
            assert 0 <= share_right([value], expected(kind, "a.py::f")) <= 1


@pytest.mark.parametrize(
    "text",
    ["## Answer\n- `10`\n", "**Answer:** 10", "### Answer:\n10\n", "Answer: 10", "## Answer\n- 3\n\n## Final answer\n1. 10\n",
     "<think>## Answer\n- 3</think>\n## Answer\n* 10"],
)  # fmt: skip
def test_the_usual_forms_of_an_answer_are_read(text):
    assert parse_values(text).values == ["10"]


def test_no_heading_is_no_answer_and_an_explanation_is_one_without_a_list():
    for text in ("", "The answer is 10.", "- 10\n", "Answer the question"):
        assert not parse_values(text).text
    assert parse_values("## Answer\nThe cache is a dict.\nIt is cleared at exit.\n").text.endswith("at exit.")


@given(LITERALS)
def test_a_literal_is_compared_by_value(value):
    assert share_right([repr(value)], expected("value", repr(value))) == 1
    assert share_right([repr(value), "17"], expected("value", repr(value))) == 0


@pytest.mark.parametrize(
    ("given_", "true", "right"),
    [("1e3", "1000.0", 1), ("1000", "1000.0", 1), ("nearest", "'nearest'", 1), ('"nearest"', "'nearest'", 1),
     ("True", "1", 0), ("'10'", "10", 0), ("(" * 400, "10", 0), ("[1]", "[1]", 1)],
)  # fmt: skip
def test_literals(given_, true, right):
    assert share_right([given_], expected("value", true)) == right


@pytest.mark.parametrize(
    ("given_", "share"),
    [("/repo/a/b.py::C.m", 1), ("a/b.py::C.m()", 1), ("/repo/a/b.py::m", 0.5), ("/repo/a/b.py", 0.5), ("/repo/b.py::C.m", 0),
     ("C.m", 0)],
)  # fmt: skip
def test_an_entity_is_half_file_and_half_name(given_, share):
    assert share_right([given_], expected("entity", "a/b.py::C.m")) == share


def test_a_set_is_scored_by_f1():
    two = expected("set", "a.py::f", "b.py::g")
    assert share_right(["/repo/b.py::g", "/repo/a.py::f"], two) == 1
    assert share_right(["/repo/b.py::g"], two) == pytest.approx(2 / 3)
    assert share_right(["/repo/b.py::g", "c.py::h", "d.py::i"], two) == pytest.approx(0.4)
    assert share_right([], two) == 0


def test_a_pair_is_an_exception_and_a_place_in_any_order():
    pair = expected("pair", "ValueError", "a.py::f")
    assert share_right(["/repo/a.py::f", "ValueError"], pair) == 1
    assert share_right(["builtins.ValueError", "/repo/a.py::g"], pair) == 0.5
    assert share_right(["ValueError"], pair) == 0
