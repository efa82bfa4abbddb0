from fusesearch.search.results import Hit, cut, fitting, listing


def test_the_notice_tells_that_there_were_more_than_was_read_and_no_group_is_set_apart_before_the_first():
    rows = [Hit("one", "a", True), Hit("two", "b"), Hit("three", "c", True), Hit("four", "d")]
    shown = listing(rows, most=3, chars=200, hint="lines", complete=False).output
    assert shown == "one\ntwo\n--\nthree\n(3 of over 4 lines)"


def test_lines_lose_control_characters_and_are_cut_with_a_mark():
    assert cut("\tif x:\x1b[31m\x00 \r", 40) == "\tif x:\ufffd[31m\ufffd"
    assert cut("a" * 30, 20) == "a" * 19 + "…"
    assert cut("a" * 20 + " " * 100, 20) == "a" * 20


NOTICE = 80  # characters kept free for the last line


def test_rows_and_their_separators_are_counted_to_the_character_and_a_first_row_is_cut_with_a_mark():
    rows = [Hit("one", "a"), Hit("two", "b", True), Hit("three", "c"), Hit("x" * 500, "d")]
    for spare, shown in ((0, 3), (-1, 2)):
        chars = len("one\n--\ntwo\nthree\n") + NOTICE + spare
        assert fitting(rows, chars) == len(listing(rows, 9, chars, "lines", True).entities) == shown
    outcome = listing([Hit("x" * 500, "a")], most=5, chars=200, hint="lines", complete=True)
    assert outcome.output == "x" * (200 - NOTICE - 1) + "…"
