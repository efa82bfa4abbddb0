"""Intervals over instances and seeds, and how many seeds it takes to see a difference."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.schema import Score
from tasks.evaluation import power, seeds, statistics
from tasks.evaluation.metrics import aggregate

F1 = statistics.mean("f1")


def arm(values, runs=1):
    """Scores by seed of a table (seeds, instances) of F1."""
    return {
        seed: [Score(instance_id=f"i{place}", run=run, f1=float(value)) for place, value in enumerate(row) for run in range(runs)]
        for seed, row in enumerate(values)
    }


def drawn(rng, seed_count, instances, by_seed, by_instance, noise):
    """A table of differences around zero."""
    of_seeds, of_instances = rng.normal(0, by_seed, (seed_count, 1)), rng.normal(0, by_instance, (1, instances))
    return of_seeds + of_instances + rng.choice([-1, 0, 1], (seed_count, instances)) * noise


@pytest.mark.parametrize("by_seed", [0.0, 0.02, 0.1])
def test_the_interval_holds_the_truth_about_as_often_as_it_says(by_seed):
    """With three seeds, whether the seeds hardly differ or decide nearly all."""
    rng, hits = np.random.default_rng(0), 0
    for _ in range(400):
        table = drawn(rng, 3, 100, by_seed, 0.1, 0.3)
        found = seeds.spread_of(table)
        hits += abs(table.mean()) <= found.error.quantile(0.025) * found.error.size
    assert hits / 400 >= 0.9


@pytest.mark.parametrize("by_seed", [0.0, 0.03, 0.1])
def test_false_findings_are_no_more_than_allowed_at_the_levels_that_several_claims_leave(by_seed):
    """With three seeds and six claims: Student's t with estimated degrees of freedom finds two to four times as many."""
    rng, tables, level = np.random.default_rng(11), 4000, 0.05 / 6
    found = [
        (table.mean(), seeds.spread_of(table).error) for table in (drawn(rng, 3, 60, by_seed, 0.05, 0.4) for _ in range(tables))
    ]
    assert sum(abs(mean) > error.quantile(level / 2) * error.size for mean, error in found) / tables <= 1.5 * level


@given(st.floats(0, 50), st.floats(0, 1), st.integers(1, 6), st.integers(2, 500))
def test_p_is_the_level_at_which_the_interval_begins_to_leave_zero_out(estimate, of_seeds, count, instances):
    error = seeds.Error(1.0, of_seeds, count, instances)
    p = error.p(estimate)
    assert seeds.LEAST_P <= p <= 1
    if p > seeds.LEAST_P:
        assert error.quantile(p / 2) == pytest.approx(estimate, rel=1e-6, abs=1e-9)


def test_one_seed_gives_the_ordinary_interval_over_instances():
    values = np.random.default_rng(1).random((1, 200))
    found = seeds.measure(arm(values), F1)
    half = 1.972 * values.std(ddof=1) / np.sqrt(200)
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=1e-5)
    assert found.spread.by_seed is None
    assert (found.seeds, found.instances) == (1, 200)


def test_seeds_that_differ_widen_the_interval_beyond_that_over_instances():
    same = np.tile(np.random.default_rng(2).random((1, 100)), (3, 1))
    apart = same + np.array([[-0.1], [0], [0.1]])
    narrow, wide = seeds.measure(arm(same), F1), seeds.measure(arm(apart), F1)
    assert narrow.estimate == pytest.approx(wide.estimate)
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)
    assert wide.by_seed == pytest.approx({0: same[0].mean() - 0.1, 1: same[0].mean(), 2: same[0].mean() + 0.1})


def test_a_difference_pairs_seeds_and_instances_and_leaves_out_what_one_arm_lacks():
    values = np.random.default_rng(3).random((3, 50))
    left, right = arm(values + 0.1), arm(values)
    del left[2]
    right[0] = [Score(instance_id="i0", error="down"), *right[0][1:]]
    found = seeds.difference(left, right, F1)
    assert (found.estimate, found.low, found.high) == pytest.approx((0.1, 0.1, 0.1), abs=1e-3)
    assert (found.seeds, found.instances) == (2, 50)
    assert found.p < 1e-6
    assert seeds.difference({0: left[0]}, {1: right[1]}, F1) is None


def test_swapping_the_arms_turns_the_sign():
    rng = np.random.default_rng(4)
    left, right = arm(rng.random((2, 30))), arm(rng.random((2, 30)))
    there, back = seeds.difference(left, right, F1), seeds.difference(right, left, F1)
    assert (there.estimate, there.low, there.p) == pytest.approx((-back.estimate, -back.high, back.p))


def test_the_same_scores_in_both_arms_differ_by_nothing():
    scores = arm(np.random.default_rng(5).random((3, 20)))
    found = seeds.difference(scores, scores, F1)
    assert (found.estimate, found.low, found.high, found.p) == (0, 0, 0, 1)
    assert not found.excludes_zero


answer = st.tuples(st.booleans(), st.integers(0, 3))


@settings(max_examples=50)
@given(st.lists(st.tuples(answer, answer), min_size=2, max_size=8))
def test_pooled_figures_are_those_of_all_seeds_together(rows):
    by_seed = {
        seed: [
            Score(
                instance_id=str(place), true_files=["a"], predicted_files=["a"] * row[seed][0] + ["x", "y", "z"][: row[seed][1]]
            )
            for place, row in enumerate(rows)
        ]
        for seed in (0, 1)
    }
    found = seeds.measure(by_seed, statistics.pooled("file", "f1"))
    assert found.estimate == pytest.approx(aggregate([*by_seed[0], *by_seed[1]])["file"]["micro"]["f1"])
    assert found.low <= found.estimate <= found.high


def test_runs_of_a_seed_weigh_like_one_and_absent_figures_give_none():
    values = np.random.default_rng(6).random((2, 20))
    once, thrice = seeds.measure(arm(values), F1), seeds.measure(arm(values, runs=3), F1)
    assert (once.low, once.high) == pytest.approx((thrice.low, thrice.high))
    assert seeds.measure(arm(values), statistics.mean("reward")) is None
    single = seeds.measure(arm(values[:, :1]), F1)
    assert (single.low, single.p, single.spread) == (None, None, None)


def test_variances_are_recovered_from_a_large_pilot():
    table = drawn(np.random.default_rng(7), 40, 400, 0.05, 0.2, 0.3)
    found = power.variances_of(seeds.spread_of(table))
    assert found.seeds == pytest.approx(0.05**2, rel=0.6)
    assert found.instances == pytest.approx(0.2**2, rel=0.3)
    assert found.residual == pytest.approx(0.3**2 * 2 / 3, rel=0.05)


def test_more_seeds_see_smaller_differences_down_to_what_the_instances_allow():
    found = power.plan(seeds.spread_of(drawn(np.random.default_rng(8), 3, 200, 0.02, 0.1, 0.4)), target=0.05)
    sizes = list(found.detectable.values())
    assert sizes == sorted(sizes, reverse=True)
    assert found.needed <= found.needed_cautious
    assert power.detectable(found.variances, found.needed, 200) <= 0.05 < power.detectable(found.variances, found.needed - 1, 200)
    assert power.plan(seeds.spread_of(drawn(np.random.default_rng(8), 3, 20, 0.02, 0.5, 0.4))).needed is None


def test_a_planned_difference_is_found_about_as_often_as_planned():
    variances, rng, hits = power.Variances(0.02**2, 0.1**2, 0.4**2 * 2 / 3), np.random.default_rng(9), 0
    size = power.detectable(variances, 4, 150)
    for _ in range(300):
        table = size + drawn(rng, 4, 150, 0.02, 0.1, 0.4)
        found = seeds.spread_of(table)
        hits += table.mean() - found.error.quantile(0.025) * found.error.size > 0
    assert 0.75 <= hits / 300 <= 0.85


def test_a_pilot_of_one_seed_says_the_least():
    found = power.plan(seeds.spread_of(np.random.default_rng(10).random((1, 100))))
    assert found.lower_bound
    assert found.variances.seeds == 0
