"""How marks and lines are told apart, and when there is no chart."""

from hypothesis import given
from hypothesis import strategies as st

from fusesearch.reporting import charts
from fusesearch.reporting.charts import styles
from fusesearch.reporting.table import ARMS

NAMES = st.lists(st.sampled_from([*ARMS, *(f"system {number}" for number in range(40))]), unique=True)


@given(NAMES)
def test_names_of_one_figure_differ_and_a_known_arm_looks_alike_in_every_figure(names):
    assert len(set(styles(names).values())) == len(names)
    assert all(styles(names)[name] == styles([name])[name] for name in names if name in ARMS)


def test_without_data_there_is_no_chart():
    few = [{"name": "a", "turn": 1, "calls": 2, "episodes": charts.LEAST_EPISODES - 1}]
    assert charts.profile(few, ["a"], {}) is None
    assert charts.difference_panels([("F1", [])]) is None
    assert charts.figure("none", "", None) == []
