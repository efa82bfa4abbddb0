"""How lines and points are told apart."""

from hypothesis import given
from hypothesis import strategies as st

from tasks.evaluation.statistics import Interval
from tasks.reporting.plots import COLOURS, calls_by_turn, differences, lines, markers, places
from tasks.reporting.tables import ARMS, Difference

NAMES = st.lists(st.sampled_from([*ARMS, *(f"system {number}" for number in range(40))]), unique=True)


@given(NAMES)
def test_names_of_one_figure_differ_in_colour_or_in_dash_and_marker(names):
    assert len(set(places(names).values())) == len(names)


@given(NAMES)
def test_a_known_arm_looks_alike_in_every_figure(names):
    shown = {name: (lines(names)[name], markers(names)[name]) for name in names if name in ARMS}
    assert shown == {name: (lines([name])[name], markers([name])[name]) for name in shown}


@given(NAMES.filter(lambda names: len(names) <= len(COLOURS)))
def test_colours_repeat_only_where_there_are_more_names_than_colours(names):
    assert len({style["color"] for style in lines(names).values()}) == len(names)


def test_systems_that_are_no_arms_have_lines_of_their_own():
    names = ["fusesearch (qwen)", "locagent (qwen)", "cosil", "agentless"]
    svg = calls_by_turn({name: [{"turn": 1, "calls": 2, "episodes": 9}] for name in names})
    assert all(style["color"].lower() in svg for style in lines(names).values())


def test_differences_of_shares_are_in_points():
    svg = differences([Difference("sft", "base", "f1_macro", Interval(0.05, 0.02, 0.08, 30), None)], ["f1_macro"])
    assert "(points)" in svg
    assert "(%)" not in svg
