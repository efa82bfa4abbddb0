"""Stated confidence beside what was right."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.evaluation.calibration import calibration


def test_bins_compare_what_is_stated_with_what_is_right():
    found = calibration([(0.9, True), (1.0, False), (0.3, False)])
    assert [(row["issues"], row["right"]) for row in found["bins"]] == [(1, 0.0), (2, 0.5)]
    assert (found["sure"], found["sure_right"]) == (pytest.approx(2 / 3), 0.5)
    assert found["expected_error"] == pytest.approx((0.3 + 2 * 0.45) / 3)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans())))
def test_every_issue_is_in_one_bin(pairs):
    found = calibration(pairs)
    assert sum(row["issues"] for row in found["bins"]) == len(pairs)
    assert 0 <= found["expected_error"] <= 1
