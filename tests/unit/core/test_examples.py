"""Examples of dropped rows: few, short, and readable again whatever a row holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.core.errors import ArtifactError
from fusesearch.core.examples import CHARS, LINES, Examples, first_lines, read_examples

ANYTHING = st.text(st.characters(), max_size=2 * CHARS)


@given(ANYTHING)
def test_first_lines_are_short_and_the_beginning_of_the_text(text):
    shown = first_lines(text)
    assert shown.count("\n") < LINES
    plain = text.encode("utf-8", "backslashreplace").decode()
    kept = shown.removesuffix(" …")
    assert plain.startswith(kept)
    if not shown.endswith(" …"):
        assert plain.rstrip("\r\n") == kept.rstrip("\r\n")


@given(ANYTHING, ANYTHING, st.one_of(st.none(), st.integers(), ANYTHING))
def test_whatever_a_row_holds_can_be_written_and_read(tmp_path, issue, patch, row_id):
    found = Examples(["rule", "other"])
    found.add("rule", row_id, {"repo": "o/n", "f1": None}, {"issue": issue, "patch": patch})
    found.write(tmp_path / "examples.json")
    read = read_examples(tmp_path / "examples.json")
    assert list(read) == ["rule", "other"]
    assert read["rule"][0].texts["issue"] == first_lines(issue)


def test_every_dropped_row_is_listed_with_its_rule(tmp_path):
    found = Examples(["short"])
    for number in range(7):
        found.add("short", f"o__n-{number}", {}, {})
    found.write_dropped(tmp_path / "dropped.csv")
    assert (tmp_path / "dropped.csv").read_text().splitlines() == ["id,rule", *(f"o__n-{number},short" for number in range(7))]


@pytest.mark.parametrize("text", ["[]", "3", '{"rule": 3}', '{"rule": [{"name": "x"}]}', "{"])
def test_another_file_is_named(tmp_path, text):
    path = tmp_path / "examples.json"
    path.write_text(text)
    with pytest.raises(ArtifactError, match=r"examples\.json"):
        read_examples(path)
