"""Intervals, paired tests and correction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tasks.core.schema import Score
from tasks.evaluation import statistics
from tasks.evaluation.metrics import aggregate


def scores(values, arm="", runs=1):
    return [Score(instance_id=str(i), arm=arm, run=run, f1=value) for i, value in enumerate(values) for run in range(runs)]


def answers(rights, error=None):
    """One run per instance; an instance is (files right, files guessed)."""
    return [
        Score(instance_id=str(i), error=error, true_files=["a"], predicted_files=["a"][:right] + ["x", "y"][:wrong],
              true_functions=["f"], predicted_functions=["f"] * right, f1=float(right))
        for i, (right, wrong) in enumerate(rights)
    ]  # fmt: skip


F1 = statistics.mean("f1")


def test_the_interval_of_a_mean_is_close_to_the_normal_one():
    values = np.random.default_rng(0).normal(0.5, 0.1, 400)
    found = statistics.interval(scores(values), F1)
    half = 1.96 * values.std() / 20
    assert found.estimate == pytest.approx(values.mean())
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.001)


def test_the_same_seed_gives_the_same_interval_in_any_order_of_scores():
    rows = scores([0.1, 0.9, 0.4, 0.3])
    assert statistics.interval(rows, F1, samples=200) == statistics.interval(rows[::-1], F1, samples=200)
    assert statistics.interval(rows, F1, samples=200) != statistics.interval(rows, F1, samples=200, seed=1)


def test_repeated_runs_of_an_instance_do_not_narrow_the_interval():
    values = np.random.default_rng(1).random(40)
    once, thrice = (statistics.interval(scores(values, runs=runs), F1) for runs in (1, 3))
    assert (thrice.low, thrice.high) == pytest.approx((once.low, once.high))


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), min_size=2, max_size=12))
def test_estimates_are_the_aggregates(rights):
    rows = answers(rights)
    summary = aggregate(rows)
    found = {level: statistics.interval(rows, statistics.pooled(level, "f1"), samples=100) for level in ("file", "function")}
    for level, interval in found.items():
        assert interval.estimate == pytest.approx(summary[level]["micro"]["f1"], abs=1e-12)
        assert 0 <= interval.low <= interval.high <= 1
    both = statistics.interval(rows, statistics.combined_pooled_f1(), samples=100)
    assert both.estimate == pytest.approx(summary["f1"]["micro"], abs=1e-12)


def test_combined_f1_is_file_f1_where_no_truth_names_a_function():
    row = Score(instance_id="1", true_files=["a"], predicted_files=["a"], predicted_functions=["f"])
    assert statistics.interval([row], statistics.combined_pooled_f1()).estimate == aggregate([row])["f1"]["micro"] == 1


def test_errored_scores_are_left_out():
    rows = [*scores([1.0, 1.0]), Score(instance_id="9", error="down")]
    assert statistics.interval(rows, F1, samples=100).instances == 2
    assert statistics.interval(answers([(1, 0)], error="down"), statistics.pooled("file", "f1")) is None


def test_one_instance_has_an_estimate_without_bounds():
    found = statistics.interval(scores([0.4]), F1)
    assert (found.estimate, found.low, found.high, found.excludes_zero) == (0.4, None, None, False)


def test_a_paired_difference_is_narrower_than_the_arms_spread():
    base = np.random.default_rng(2).random(60)
    found = statistics.difference(scores(base + 0.05), scores(base), F1)
    assert (found.low, found.estimate, found.high) == pytest.approx((0.05, 0.05, 0.05))
    assert found.excludes_zero


def test_a_difference_uses_the_instances_both_arms_measured():
    first = [*scores([1.0, 1.0, 1.0]), Score(instance_id="7", f1=0.0)]
    second = [*scores([0.0, 0.0]), Score(instance_id="2", error="down")]
    found = statistics.difference(first, second, F1)
    assert (found.estimate, found.instances) == (1, 2)
    assert statistics.difference(first, [], F1) is None


def test_the_number_of_runs_of_an_arm_does_not_change_the_test():
    better, base = scores([0.2, 0.9, 0.4, 0.7, 0.1]), scores([0.3, 0.5, 0.1, 0.2, 0.0])
    thrice = scores([0.2, 0.9, 0.4, 0.7, 0.1], runs=3)
    assert statistics.permutation_p(thrice, base, F1) == statistics.permutation_p(better, base, F1)
    assert statistics.difference(thrice, base, F1).estimate == pytest.approx(statistics.difference(better, base, F1).estimate)


def test_the_permutation_test_is_exact_for_few_instances():
    # all of 6 differences have one sign: 2 of 2^6 sign patterns are as extreme
    assert statistics.permutation_p(scores([0.9] * 6), scores([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), F1) == pytest.approx(2 / 64)
    assert statistics.permutation_p(scores([0.5]), scores([0.1]), F1) is None


def test_the_permutation_test_agrees_with_the_paired_t_test():
    rng = np.random.default_rng(3)
    base = rng.random(80)
    better = base + rng.normal(0.05, 0.2, 80)
    ours = statistics.permutation_p(scores(better), scores(base), F1)
    assert ours == pytest.approx(stats.ttest_rel(better, base).pvalue, abs=0.02)


def test_pooled_f1_has_a_permutation_test_of_its_own():
    first, second = answers([(1, 0)] * 8), answers([(0, 1)] * 8)
    assert statistics.permutation_p(first, second, statistics.pooled("file", "f1")) == pytest.approx(2 / 256)


def test_holm_of_a_worked_example():
    # sorted: 0.01 x 4, 0.02 x 3, 0.03 x 2, 0.5 x 1, each at least the one before
    assert statistics.holm([0.03, 0.01, None, 0.5, 0.02]) == [pytest.approx(0.06), 0.04, None, 0.5, pytest.approx(0.06)]


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_never_lowers_p_and_keeps_the_order(values):
    adjusted = statistics.holm(values)
    assert all(p <= q <= 1 for p, q in zip(values, adjusted, strict=True))
    order = sorted(range(len(values)), key=values.__getitem__)
    assert [adjusted[i] for i in order] == sorted(adjusted)
