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


@given(LITERALS)
def test_a_literal_is_compared_by_value(value):
    assert share_right([repr(value)], expected("value", repr(value))) == 1
    assert share_right([repr(value), "17"], expected("value", repr(value))) == 0


def test_the_usual_forms_of_an_answer_are_read_and_no_heading_is_none():
    forms = [
        "## Answer\n- `10`\n", "**Answer:** 10", "### Answer:\n10\n", "Answer: 10", "## Answer\n- 3\n\n## Final answer\n1. 10\n",
        "<think>## Answer\n- 3</think>\n## Answer\n* 10",
    ]  # fmt: skip
    assert [text for text in forms if parse_values(text).values != ["10"]] == []
    assert [text for text in ("", "The answer is 10.", "- 10\n", "Answer the question") if parse_values(text).text] == []
    assert parse_values("## Answer\nThe cache is a dict.\nIt is cleared at exit.\n").text.endswith("at exit.")


ENTITY, SET = ["a/b.py::C.m"], ["a.py::f", "b.py::g"]
"""An entity is half file and half name, a set is scored by F1."""


@pytest.mark.parametrize(
    ("kind", "true", "given_", "share"),
    [
        ("value", ["1000.0"], ["1e3"], 1), ("value", ["1000.0"], ["1000"], 1), ("value", ["'nearest'"], ["nearest"], 1),
        ("value", ["'nearest'"], ['"nearest"'], 1), ("value", ["1"], ["True"], 0), ("value", ["10"], ["'10'"], 0),
        ("value", ["10"], ["(" * 400], 0), ("value", ["[1]"], ["[1]"], 1),
        ("entity", ENTITY, ["/repo/a/b.py::C.m"], 1), ("entity", ENTITY, ["a/b.py::C.m()"], 1),
        ("entity", ENTITY, ["/repo/a/b.py::m"], 0.5), ("entity", ENTITY, ["/repo/a/b.py"], 0.5),
        ("entity", ENTITY, ["/repo/b.py::C.m"], 0), ("entity", ENTITY, ["C.m"], 0),
        ("set", SET, ["/repo/b.py::g", "/repo/a.py::f"], 1), ("set", SET, ["/repo/b.py::g"], 2 / 3),
        ("set", SET, ["/repo/b.py::g", "c.py::h", "d.py::i"], 0.4), ("set", SET, [], 0),
    ],
)  # fmt: skip
def test_each_kind_of_answer_has_its_share(kind, true, given_, share):
    assert share_right(given_, expected(kind, *true)) == pytest.approx(share)
