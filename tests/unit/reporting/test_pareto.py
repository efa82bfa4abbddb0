"""The front of quality against cost, and its picture."""

from hypothesis import given
from hypothesis import strategies as st

from tasks.reporting.pareto import Point, front, scatter

POINTS = st.lists(
    st.builds(Point, st.just("s"), st.integers(1, 9).map(float), st.integers(0, 9).map(float)), min_size=1, max_size=12
)


def beats(one, other):
    return one.cost <= other.cost and one.quality >= other.quality and (one.cost, one.quality) != (other.cost, other.quality)


@given(POINTS)
def test_the_front_is_what_no_other_beats(points):
    unbeaten = {(p.cost, p.quality) for p in points if not any(beats(other, p) for other in points)}
    found = front(points)
    assert {(p.cost, p.quality) for p in found} == unbeaten
    assert len(found) == len(unbeaten)
    assert [p.cost for p in found] == sorted(p.cost for p in found)


def test_the_picture_is_one_svg_whose_names_are_text():
    points = [Point("a <b>", 3.0, 50.0), Point("zero", 0.0, 10.0), Point("theirs", 9.0, 80.0, paper=True, model="small")]
    svg = scatter(points, "Tokens", "F1")
    assert svg.startswith("<svg")
    assert "a &lt;b&gt;" in svg
    assert "theirs (paper)" in svg
    assert "small" in svg
    logarithmic = scatter([Point("a", 10.0, 50.0), Point("b", 200.0, 60.0)], "Tokens", "F1")
    assert "mathdefault" not in svg + logarithmic
    assert 'href="http' not in svg.replace('href="http://www.w3.org', "")


def test_without_a_system_of_ours_there_is_no_picture():
    assert scatter([Point("theirs", 9.0, 80.0, paper=True)], "Tokens", "F1") is None
