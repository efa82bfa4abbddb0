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


def test_an_error_is_read_beside_what_perfect_confidences_would_show():
    """A hundred confidences of 0.5 are wrong by a mean of 4 points though each coin is fair: sqrt(2 / pi) * sqrt(0.25 / 100)."""
    fair = calibration([(0.5, number % 2 == 0) for number in range(100)])
    assert fair["expected_error"] == 0
    assert fair["perfect"]["mean"] == pytest.approx(0.04, abs=0.003)
    assert fair["perfect"]["high"] == pytest.approx(1.96 * 0.05, abs=0.01)
    always_wrong = calibration([(0.5, False)] * 100)
    assert always_wrong["expected_error"] > always_wrong["perfect"]["high"]
