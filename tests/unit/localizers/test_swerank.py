"""SweRank's parts: the encoder, and the sliding window."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.core.errors import InfrastructureError
from fusesearch.localizers.swerank import _embedded, read_order, windows


def test_too_little_memory_is_a_failure_of_the_infrastructure():
    class Full:
        def encode(self, texts, **options):
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory\nat ...")

    with pytest.raises(InfrastructureError, match=r"the encoder failed: DefaultCPUAllocator: can't allocate memory$"):
        _embedded(Full(), ["a"])


def test_a_hundred_functions_are_nineteen_windows_of_ten():
    found = list(windows(100, 10, 5))
    assert (len(found), found[0], found[1], found[-1]) == (19, (90, 100), (85, 95), (0, 10))
    assert list(windows(5, 10, 5)) == [(0, 5)]
    assert list(windows(12, 10, 5)) == [(2, 12), (0, 7)]


@given(st.text() | st.lists(st.integers(0, 99)).map(lambda row: " > ".join(f"[{number}]" for number in row)), st.integers(1, 12))
def test_no_reply_loses_or_doubles_a_candidate(reply, count):
    assert sorted(read_order(reply, count)) in ([], list(range(count)))


@given(st.integers(1, 60), st.integers(2, 12), st.data())
def test_windows_with_the_best_reply_bring_the_best_to_the_top(count, size, data):
    worth = data.draw(st.permutations(range(count)))
    found = list(worth)
    for start, end in windows(count, size, max(size // 2, 1)):
        best = sorted(range(end - start), key=lambda place: -found[start:end][place])
        order = read_order(" > ".join(f"[{place + 1}]" for place in best), end - start)
        found[start:end] = [found[start:end][place] for place in order]
    assert sorted(found) == sorted(worth)
    assert found[: max(size // 2, 1)] == sorted(worth, reverse=True)[: max(size // 2, 1)]


@pytest.mark.parametrize(
    ("reply", "order"),
    [
        ("[2] > [1]", [1, 0, 2]),
        ("[3]", [2, 0, 1]),
        ("3 > 1", [2, 0, 1]),
        ("Of the 3 functions, [1]: [3]>[2]  >\n[1]", [2, 1, 0]),
        ("[2] > [2] > [9] > [0] > [1]", [1, 0, 2]),
        ("I cannot say.", []),
        ("", []),
        ("[0] > [17]", []),
        ("9" * 10_000 + " [2]", [1, 0, 2]),
        ("[²]", []),
    ],
)
def test_replies(reply, order):
    assert read_order(reply, 3) == order
