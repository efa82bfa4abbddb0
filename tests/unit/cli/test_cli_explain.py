"""`localize --explain`: which observation led to each location."""

import json

import pytest

from fusesearch.core.schema import Observation, ToolCall, Trajectory, Turn
from fusesearch.reporting.episodes.explain import Target, explain
from fusesearch.reporting.episodes.observed import Sources, defines, rows


def episode(*turns: list[tuple[str, list[str]]]) -> Trajectory:
    """An episode whose turns are lists of (output, entities), one per call."""
    parts = [
        Turn(
            text="",
            calls=[ToolCall(id=f"{n}{i}", name="grep", arguments={"pattern": f"p{i}"}) for i in range(len(results))],
            observations=[
                Observation(call_id=f"{n}{i}", output=output, entities=entities) for i, (output, entities) in enumerate(results)
            ],
        )
        for n, results in enumerate(turns)
    ]
    return Trajectory(instance_id="i", localizer="l", system="s", issue="i", turns=parts)


LISTED = ("/repo/b.py\n/repo/a.py", ["b.py", "a.py"])
BODY = ("/repo/a.py:12:    return 1", ["a.py:12"])
WHOLE = ("10\t@cached\n11\tdef f():\n12\t    return 1", ["a.py:10", "a.py:11", "a.py:12"])
OTHER = ("/repo/a.py:90:f()", ["a.py:90"])
FUNCTION = Target("a.py", "f", [(10, 12)])


def seen(sighting) -> tuple:
    return sighting.turn, sighting.call, sighting.shows, sighting.line, sighting.lines


@pytest.mark.parametrize(
    ("turns", "target", "first", "strongest"),
    [
        ([[("none", []), LISTED], [BODY], [OTHER, WHOLE]], FUNCTION, (1, 2, "file", None, 0), (3, 2, "definition", 11, 3)),
        ([[OTHER, BODY, LISTED]], FUNCTION, (1, 1, "file", 90, 0), (1, 2, "lines", 12, 1)),
        ([[LISTED, OTHER, WHOLE]], Target("a.py"), (1, 1, "file", None, 0), (1, 3, "file", 10, 3)),
        ([[OTHER, WHOLE]], Target("a.py", "f"), (1, 1, "file", 90, 0), (1, 2, "definition", 11, 1)),
    ],
    ids=["the earliest and the strongest", "lines of a function before others", "where most of a file was shown", "by its name"],
)
def test_the_first_and_the_strongest_call_are_named(turns, target, first, strongest):
    (found,) = explain(episode(*turns), [target])
    assert (seen(found.first), seen(found.strongest)) == (first, strongest)


def test_the_earlier_of_two_equal_calls_counts_and_is_listed_once():
    (found,) = explain(episode([BODY, BODY]), [FUNCTION])
    assert found.first is found.strongest
    assert found.as_text() == ['turn 1, call 1: 1 line of it, from line 12 (grep pattern="p0")']


def test_a_location_that_was_never_shown_is_reported():
    (found,) = explain(episode([OTHER]), [Target("gone.py", "f")])
    assert found.as_json() == {"path": "gone.py", "function": "f", "first": None, "strongest": None}
    assert found.as_text() == ["no observation showed it"]


@pytest.mark.parametrize(
    ("output", "entities", "places"),
    [
        ("/repo/a.py:1:x\n--\n/repo/a.py-7-y\n(2 of 9 lines)", ["a.py:1", "a.py:7"], [("a.py", 1), None, ("a.py", 7), None]),
        ("/repo/a.py:3\n/repo/b.py:4", ["a.py", "b.py"], [("a.py", None), ("b.py", None)]),
        ("/repo/a.py:12", ["a.py:12"], [("a.py:12", None)]),
        ("3\ta\n4\tb\n(lines 3-4 of 9)", ["a.py:3", "a.py:4"], [("a.py", 3), ("a.py", 4), None]),
        ("Error: no", [], [None]),
    ],
    ids=["content", "count", "a file with a colon", "read_file", "error"],
)
def test_rows_are_matched_with_what_they_show(output, entities, places):
    found = [
        (row.path, row.line) if row.path else None for row in rows(Observation(call_id="1", output=output, entities=entities))
    ]
    assert found == places


@pytest.mark.parametrize(
    ("text", "function", "expected"),
    [
        ("    async def area(self):", "Square.area", True),
        ("def area_of(x):", "area", False),
        ("# def area(x):", "area", False),
        ("func (s *Square) area() int {", "area", True),
        ("export async function area(s) {", "area", True),
    ],
)
def test_a_definition_is_known_by_its_line(text, function, expected):
    assert defines(text, function) is expected


def test_functions_are_made_out_in_shown_lines_as_far_as_there_is_no_gap():
    source = ["class A:", "    def f(self):", "        return 1", "", "def f():", "    return 2"]
    read = ("\n".join(f"{n}\t{text}" for n, text in enumerate(source, 1)), [f"a.py:{n}" for n in range(1, 7)])
    far = ("/repo/a.py:9:    return 3", ["a.py:9"])
    sources = Sources(episode([read, far]))
    assert sources.spans("a.py", "A.f") == [(2, 2), (2, 3)]
    assert sources.spans("a.py", "f") == [(5, 5), (5, 6)]
    assert sources.spans("a.py", "B.f") == [(2, 2)]  # by its name alone: a line by itself does not tell its class


def test_text_tells_the_call_below_each_location(run, repo, issue):
    plain = run("localize", "--repo", repo, "--issue", issue, "--localizer", "lexical").stdout.splitlines()
    result = run("localize", "--repo", repo, "--issue", issue, "--localizer", "lexical", "--explain")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    at = lines.index("  1. pkg/shapes.py:6-7  perimeter")
    assert "turn 1, call " in lines[at + 1]
    assert "its definition, line 6" in "".join(lines[at + 1 : at + 3])
    assert set(plain[:-1]) <= set(lines)


def test_json_has_the_key_only_when_asked(run, repo, issue):
    options = ("--localizer", "lexical", "--format", "json", "--explain")
    found = json.loads(run("localize", "--repo", repo, "--issue", issue, *options).stdout)
    assert found.keys() == {"outcome", "places", "modify", "related", "trajectory", "explain"}
    assert len(found["explain"]["modify"]) == len(found["modify"])
    strongest = found["explain"]["modify"][0]["strongest"]
    assert strongest.keys() == {"turn", "call", "tool", "arguments", "shows", "line", "lines_shown"}
    assert (strongest["shows"], strongest["line"]) == ("definition", 6)
