"""What an observation's rows show, and the functions that can be made out in them."""

import pytest

from fusesearch.core.schema import Observation, Trajectory, Turn
from fusesearch.reporting.episodes.observed import Sources, rows


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


def test_functions_are_made_out_in_shown_lines_as_far_as_there_is_no_gap():
    source = ["class A:", "    def f(self):", "        return 1", "", "def f():", "    return 2"]
    read = ("\n".join(f"{n}\t{text}" for n, text in enumerate(source, 1)), [f"a.py:{n}" for n in range(1, 7)])
    far = ("/repo/a.py:9:    return 3", ["a.py:9"])
    seen = [Observation(call_id="1", output=output, entities=entities) for output, entities in (read, far)]
    sources = Sources(Trajectory(instance_id="i", localizer="l", system="s", issue="i", turns=[Turn(text="", observations=seen)]))
    assert sources.spans("a.py", "A.f") == [(2, 2), (2, 3)]
    assert sources.spans("a.py", "f") == [(5, 5), (5, 6)]
    assert sources.spans("a.py", "B.f") == [(2, 2)]  # by its name alone: a line by itself does not tell its class
