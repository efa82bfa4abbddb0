"""Orders of trying contain each function once, and a localizer's answer comes first."""

from hypothesis import given
from hypothesis import strategies as st

from experiments.repair.orders import ALONE, ANSWER, FIRST, PRE_SEARCH, RANDOM, SUB_AGENT, TRUE, by_answer, by_issue, orders
from fusesearch.evaluation.predictions import Prediction

FUNCTIONS = [f"pkg/{path}.py::{name}" for path in "abc" for name in ("area", "Shape.scale", "clamp", "total", "area_of")]
ISSUE = """clamp returns 3 instead of 1

>>> from pkg.a import area
Traceback (most recent call last):
  File "pkg/b.py", line 9, in total
  File "pkg/c.py", line 3, in scale
ValueError: none
"""


def test_a_traceback_comes_first_then_what_the_issue_names_then_the_rest():
    found = by_issue(ISSUE, FUNCTIONS, "key")
    assert found[:2] == ["pkg/c.py::Shape.scale", "pkg/b.py::total"]
    assert {name.rpartition("::")[2] for name in found[2:5]} == {"clamp"}
    assert {name.rpartition("::")[2] for name in found[5:8]} == {"area"}
    assert sorted(found) == sorted(FUNCTIONS)
    assert by_issue(ISSUE, FUNCTIONS, "another key") != found


def test_named_functions_come_before_the_others_of_named_files_and_unknown_ones_are_left_out():
    answer = Prediction(
        instance_id="x", files=["pkg/b.py", "gone.py"], functions=["pkg/c.py::clamp", "pkg/b.py::gone", "pkg/b.py::area"]
    )
    found = by_answer(answer, FUNCTIONS)
    assert found[:2] == ["pkg/c.py::clamp", "pkg/b.py::area"]
    assert set(found[2:]) == {name for name in FUNCTIONS if name.startswith("pkg/b.py") and name != "pkg/b.py::area"}


@given(st.lists(st.sampled_from([*FUNCTIONS, "pkg/a.py::unknown"])), st.lists(st.sampled_from(["pkg/a.py", "pkg/c.py"])))
def test_every_order_has_each_function_once(functions, files):
    found = {"ours": Prediction(instance_id="x", files=files, functions=functions)}
    made = orders(ISSUE, FUNCTIONS, [FUNCTIONS[3]], found, "key", 2)
    assert [(order.system, order.configuration) for order in made] == [
        (TRUE, TRUE), (ALONE, ALONE), (RANDOM, "random 0"), (RANDOM, "random 1"),
        ("ours", ANSWER), ("ours", PRE_SEARCH), ("ours", SUB_AGENT),
    ]  # fmt: skip
    true, _, first, second, answer, once, again = (order.functions for order in made)
    assert true == [FUNCTIONS[3]]
    assert first != second
    assert len(answer) <= FIRST
    assert list(once[: len(answer)]) == list(again[: len(answer)]) == list(answer)
    for order in made[1:4] + made[5:]:
        assert sorted(order.functions) == sorted(FUNCTIONS)
