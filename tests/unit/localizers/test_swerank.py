"""SweRank's replies as an order of the candidates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.localizers.swerank import read_order


@given(st.text() | st.lists(st.integers(0, 99)).map(lambda row: " > ".join(f"[{number}]" for number in row)), st.integers(1, 12))
def test_no_reply_loses_or_doubles_a_candidate(reply, count):
    assert sorted(read_order(reply, count)) == list(range(count))


@pytest.mark.parametrize(
    ("reply", "order"),
    [
        ("[2] > [1]", [1, 0, 2]), ("[3]", [2, 0, 1]), ("3 > 1", [2, 0, 1]),
        ("Of the 3 functions, [1]: [3]>[2]  >\n[1]", [2, 1, 0]),
        ("[2] > [2] > [9] > [0] > [1]", [1, 0, 2]),
        ("I cannot say.", [0, 1, 2]), ("", [0, 1, 2]), ("[0] > [17]", [0, 1, 2]), ("[²]", [0, 1, 2]),
        ("9" * 10_000 + " [2]", [1, 0, 2]),
    ],
)  # fmt: skip
def test_replies(reply, order):
    assert read_order(reply, 3) == order
