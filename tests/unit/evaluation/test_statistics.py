"""Intervals over instances and seeds, differences, corrected tests, and the differences that can be seen."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fusesearch.core.schema import Score
from fusesearch.evaluation import statistics
from fusesearch.evaluation.metrics import METRICS, aggregate
from fusesearch.evaluation.quality import combined_f1

F1 = statistics.mean("f1")


def arm(values, runs=1):
    """Scores by seed of a table (seeds, instances) of F1."""
    return {
        seed: [Score(instance_id=f"i{place}", run=run, f1=float(value)) for place, value in enumerate(row) for run in range(runs)]
        for seed, row in enumerate(values)
    }


def answers(rights, error=None):
    """One run per instance; an instance is (whether the file is named, how many wrong ones are)."""
    return [
        Score(
            instance_id=str(place), error=error, true_files=["a"], true_functions=["f"], f1=float(right),
            predicted_files=["a"] * bool(right) + ["x", "y", "z", "u", "v", "w", "s", "t"][:wrong],
            predicted_functions=["f"] * bool(right),
        )
        for place, (right, wrong) in enumerate(rights)
    ]  # fmt: skip


def drawn(rng, seed_count, instances, by_seed, by_instance, noise):
    """A table of differences around zero."""
    of_seeds, of_instances = rng.normal(0, by_seed, (seed_count, 1)), rng.normal(0, by_instance, (1, instances))
    return of_seeds + of_instances + rng.choice([-1, 0, 1], (seed_count, instances)) * noise


@pytest.mark.parametrize("by_seed", [0.0, 0.02, 0.1])
def test_the_interval_holds_the_truth_about_as_often_as_it_says(by_seed):
    """With three seeds, whether the seeds hardly differ or decide nearly all."""
    rng, hits = np.random.default_rng(0), 0
    for _ in range(200):
        table = drawn(rng, 3, 100, by_seed, 0.1, 0.3)
        found = statistics.spread_of(table)
        hits += abs(table.mean()) <= found.error.quantile(0.025) * found.error.size
    assert hits / 200 >= 0.9


@pytest.mark.parametrize("by_seed", [0.0, 0.1])
def test_false_findings_are_no_more_than_allowed_at_the_levels_that_several_claims_leave(by_seed):
    """With three seeds and six claims: Student's t with estimated degrees of freedom finds two to four times as many."""
    rng, tables, level = np.random.default_rng(11), 800, 0.05 / 6
    false = 0
    for _ in range(tables):
        table = drawn(rng, 3, 60, by_seed, 0.05, 0.4)
        error = statistics.spread_of(table).error
        false += abs(table.mean()) > error.quantile(level / 2) * error.size
    assert false / tables <= 1.5 * level


@given(st.floats(0, 50), st.floats(0, 1), st.integers(1, 6), st.integers(2, 500))
def test_p_is_the_level_at_which_the_interval_begins_to_leave_zero_out(estimate, of_seeds, count, instances):
    error = statistics.Error(1.0, of_seeds, count, instances)
    p = error.p(estimate)
    assert statistics.LEAST_P <= p <= 1
    if p > statistics.LEAST_P:
        assert error.quantile(p / 2) == pytest.approx(estimate, rel=1e-6, abs=1e-9)


def test_with_one_seed_the_interval_of_a_pooled_figure_holds_the_truth_about_as_often_as_it_says():
    rng, hits, pooled, instances = np.random.default_rng(12), 0, statistics.pooled("file", "f1"), 30
    for _ in range(120):
        found = statistics.measure({0: answers(zip(rng.random(instances) < 0.6, rng.poisson(1, instances), strict=True))}, pooled)
        hits += found.low <= 2 * 0.6 / (0.6 + 1 + 1) <= found.high
    assert hits / 120 >= 0.9


def test_seeds_that_differ_widen_the_interval_beyond_that_over_instances():
    same = np.tile(np.random.default_rng(2).random((1, 100)), (3, 1))
    apart = same + np.array([[-0.1], [0], [0.1]])
    narrow, wide = statistics.measure(arm(same), F1), statistics.measure(arm(apart), F1)
    assert narrow.estimate == pytest.approx(wide.estimate)
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)
    assert wide.by_seed == pytest.approx({0: same[0].mean() - 0.1, 1: same[0].mean(), 2: same[0].mean() + 0.1})


def test_a_difference_pairs_seeds_and_instances_and_leaves_out_what_one_arm_lacks():
    values = np.random.default_rng(3).random((3, 50))
    left, right = arm(values + 0.1), arm(values)
    del left[2]
    right[0] = [Score(instance_id="i0", error="down"), *right[0][1:]]
    found = statistics.difference(left, right, F1)
    assert (found.estimate, found.low, found.high) == pytest.approx((0.1, 0.1, 0.1), abs=1e-3)
    assert (found.seeds, found.instances) == (2, 50)
    assert found.p < 1e-6
    assert statistics.difference({0: left[0]}, {1: right[1]}, F1) is None


def test_runs_of_a_seed_weigh_like_one_and_absent_figures_give_none():
    values = np.random.default_rng(6).random((2, 20))
    once, thrice = statistics.measure(arm(values), F1), statistics.measure(arm(values, runs=3), F1)
    assert (once.low, once.high) == pytest.approx((thrice.low, thrice.high))
    assert statistics.difference(arm(values), arm(values, runs=3), F1).estimate == pytest.approx(0)
    assert statistics.measure(arm(values), statistics.mean("reward")) is None
    single = statistics.measure(arm(values[:, :1]), F1)
    assert (single.low, single.p, single.spread) == (None, None, None)


@pytest.mark.parametrize(("seeds", "instances"), [(4, 150), (1, 100)])
def test_a_difference_of_the_detectable_size_is_found_about_as_often_as_planned(seeds, instances):
    rng, hits, tables = np.random.default_rng(9), 0, 200
    spread = statistics.spread_of(drawn(rng, 400, 400, 0.02, 0.1, 0.4))  # large enough for its mean squares to be exact
    rest, by_seed, by_instance = (
        spread.residual,
        (spread.by_seed - spread.residual) / 400,
        (spread.by_instance - spread.residual) / 400,
    )
    squares = (rest + instances * by_seed if seeds > 1 else 0.0, rest + seeds * by_instance)
    size = statistics.Spread(seeds, instances, squares[1], squares[0] or None).error.detectable()
    for _ in range(tables):
        table = size + drawn(rng, seeds, instances, 0.02 * (seeds > 1), 0.1, 0.4)
        error = statistics.spread_of(table).error
        hits += table.mean() > error.quantile(0.025) * error.size
    assert 0.72 <= hits / tables <= 0.88


ANSWER = st.tuples(st.booleans(), st.integers(0, 2))


@given(st.lists(st.tuples(ANSWER, ANSWER), min_size=1, max_size=10))
def test_estimates_are_the_aggregates_of_one_seed_and_of_all_together(rows):
    first, second = (answers([row[seed] for row in rows]) for seed in (0, 1))
    for by_seed in ({0: first}, {0: first, 1: second}):
        summary = aggregate([score for scores in by_seed.values() for score in scores])
        for key in ("file_micro_f1", "function_micro_f1", "f1_micro", "f1_macro"):
            assert statistics.measure(by_seed, METRICS[key].statistic).estimate == pytest.approx(summary[key], abs=1e-12)
        combined = combined_f1(summary["file_micro_f1"], summary["function_micro_f1"])
        assert summary["f1_micro"] == pytest.approx(combined, abs=1e-12)


def test_figures_of_functions_are_absent_where_no_truth_names_one_and_f1_is_that_of_files():
    rows = [
        Score(instance_id=str(place), true_files=["a"], predicted_files=["a"], predicted_functions=["f"]) for place in range(3)
    ]
    found = aggregate(rows)
    for key in (key for key in METRICS if key.startswith("function_")):
        assert found[key] is statistics.measure({0: rows}, METRICS[key].statistic) is None
        assert statistics.compare({"a": {0: rows}, "b": {0: rows}}, [("a", "b")], {key: METRICS[key].statistic}) == []
    assert statistics.measure({0: rows}, METRICS["f1_micro"].statistic).estimate == found["f1_micro"] == 1


def test_one_truth_with_functions_among_others_gives_a_figure_without_an_interval():
    rows = [Score(instance_id=str(place), true_files=["a"], predicted_files=["a"]) for place in range(3)]
    rows[0] = rows[0].model_copy(update={"true_functions": ["f"], "predicted_functions": ["f"]})
    found = statistics.measure({0: rows}, METRICS["function_micro_f1"].statistic)
    assert (found.estimate, found.low, found.high) == (1, None, None)


def test_with_one_seed_the_test_is_the_paired_t_test():
    rng = np.random.default_rng(3)
    base = rng.random((1, 80))
    better = base + rng.normal(0.05, 0.2, (1, 80))
    found = statistics.difference(arm(better), arm(base), F1)
    assert found.p == pytest.approx(stats.ttest_rel(better[0], base[0]).pvalue, rel=1e-6)


def test_differences_are_corrected_within_a_figure():
    rng = np.random.default_rng(13)
    arms = {name: arm(rng.random((3, 30)) + shift) for name, shift in (("a", 0), ("b", 0.1), ("c", 0.3))}
    rows = statistics.compare(arms, [("b", "a"), ("c", "a"), ("c", "b")], {"f1_macro": F1, "again": F1})
    assert [(row.metric, row.first) for row in rows[::3]] == [("f1_macro", "b"), ("again", "b")]
    for found in (rows[:3], rows[3:]):
        assert [row.p_holm for row in found] == pytest.approx(statistics.holm([row.p for row in found]), rel=1e-3)
        assert [row.excludes_zero for row in found] == [row.p < 0.05 for row in found]
        assert [row.is_significant for row in found] == [row.p_holm < 0.05 for row in found]


def test_holm_of_a_worked_example():
    # sorted: 0.01 x 4, 0.02 x 3, 0.03 x 2, 0.5 x 1, each at least the one before
    assert statistics.holm([0.03, 0.01, None, 0.5, 0.02]) == [pytest.approx(0.06), 0.04, None, 0.5, pytest.approx(0.06)]
