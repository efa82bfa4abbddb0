import pytest

from fusesearch.search.gain import file_of, gain_of


@pytest.mark.parametrize(
    ("turns", "last"),
    [
        ([[["a.py", "b.py"]]], [(1.0, 1.0)]),
        ([[["a.py", "b.py"]], [["a.py", "b.py"]]], [(0.0, 0.0)]),
        ([[["a.py"], ["a.py"]]], [(1.0, 1.0), (1.0, 0.0)]),  # new by the paper's rule, but not by call
        ([[["a.py"]], [["a.py", "b.py", "c.py", "d.py"]]], [(0.75, 0.75)]),
        ([[[], ["a.py"], []]], [(0.0, 0.0), (1.0, 1.0), (0.0, 0.0)]),
        ([[["a.py:1"]], [["a.py"], ["a.py:2"]]], [(0.0, 0.0), (1.0, 1.0)]),  # a line brings its file, a file no line
        ([[["a.py:1"]], [["a.py:1", "a.py:1", "a.py:2"]]], [(0.5, 0.5)]),
    ],
)
def test_gain_is_the_share_of_entities_not_seen_before(turns, last):
    history = frozenset()
    for turn in turns:
        gains, history = gain_of(turn, history)
    assert gains == last


def test_a_line_at_the_end_of_an_entity_is_no_part_of_its_file():
    assert [file_of(entity) for entity in ("a.py:12", "a.py", "x:y:7")] == ["a.py", "a.py", "x:y"]
    assert [entity for entity in ("b/c:d", ":3", "a:٣") if file_of(entity) != entity] == []
