import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.search.results import Hit, cut, fitting, listing

ROWS = st.lists(st.builds(Hit, st.text("ab é", max_size=300), st.text("xyz", min_size=1), st.booleans()), max_size=30)


def test_everything_that_fits_is_shown_without_a_notice():
    outcome = listing([Hit("one", "a"), Hit("two", "b")], most=5, chars=200, hint="lines", complete=True)
    assert (outcome.output, outcome.entities) == ("one\ntwo", ["a", "b"])


def test_the_notice_tells_how_many_there_were():
    rows = [Hit(f"line {number}", f"a:{number}") for number in range(41)]
    outcome = listing(rows, most=2, chars=1000, hint="lines; narrow the pattern", complete=True)
    assert outcome.output == "line 0\nline 1\n(2 of 41 lines; narrow the pattern)"
    assert outcome.entities == ["a:0", "a:1"]
    assert "(2 of over 41 lines" in listing(rows, most=2, chars=1000, hint="lines", complete=False).output


def test_groups_are_set_apart_but_not_before_the_first():
    rows = [Hit("one", "a", True), Hit("two", "b"), Hit("three", "c", True)]
    assert listing(rows, most=5, chars=200, hint="lines", complete=True).output == "one\ntwo\n--\nthree"


def test_lines_lose_control_characters_and_are_cut_with_a_mark():
    assert cut("\tif x:\x1b[31m\x00 \r", 40) == "\tif x:\ufffd[31m\ufffd"
    assert cut("a" * 30, 20) == "a" * 19 + "…"
    assert cut("a" * 20 + " " * 100, 20) == "a" * 20


NOTICE = 80  # characters kept free for the last line


def written(rows):
    """Rows as they are shown, each with its end of line."""
    return "".join(f"--\n{row.text}\n" if row.apart and number else f"{row.text}\n" for number, row in enumerate(rows))


@given(ROWS, st.integers(1, 20), st.integers(200, 2000), st.booleans())
def test_as_many_leading_rows_are_shown_as_fit(rows, most, chars, complete):
    outcome = listing(rows, most, chars, "lines; narrow the pattern, path or glob", complete)
    count = len(outcome.entities)
    assert len(outcome.output) <= chars
    assert count <= most
    assert list(outcome.entities) == [row.entity for row in rows[:count]]
    if rows and len(written(rows[:1])) <= chars - NOTICE:
        assert outcome.output.startswith(written(rows[:count]).rstrip("\n"))
    if count < min(len(rows), most):
        room = chars - NOTICE - 3 * rows[0].apart  # the first row counts its line too, though it is not shown
        assert len(written(rows[: count + 1])) > room or not count


@pytest.mark.parametrize(("spare", "shown"), [(0, 3), (-1, 2)])
def test_rows_and_their_separators_are_counted_to_the_character(spare, shown):
    rows = [Hit("one", "a"), Hit("two", "b", True), Hit("three", "c"), Hit("x" * 500, "d")]
    chars = len("one\n--\ntwo\nthree\n") + NOTICE + spare
    assert fitting(rows, chars) == shown
    assert len(listing(rows, 9, chars, "lines", True).entities) == shown


def test_a_first_row_that_is_too_long_is_cut_with_a_mark():
    outcome = listing([Hit("x" * 500, "a")], most=5, chars=200, hint="lines", complete=True)
    assert outcome.output == "x" * (200 - NOTICE - 1) + "…"


@given(st.text(max_size=400), st.integers(20, 100))
def test_a_cut_line_is_one_line_within_its_limit(line, chars):
    shown = cut(line, chars)
    assert len(shown) <= chars
    assert len(shown.splitlines()) <= 1
