"""SweRank's parts: the encoder, and the sliding window."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.core.errors import ArtifactError, InfrastructureError
from fusesearch.localizers.swerank import _embedded, encoder_named, read_order, windows
from tests.fakes.encoder import SIZE, shared_encoder, tiny_encoder

TEXTS = ["def total(self): return 1", "", "class Basket:", "x" * 500, "\ud800 \u0101 \n\t"]


def test_vectors_have_length_one_and_do_not_depend_on_the_other_texts():
    encoder = encoder_named(shared_encoder())
    found = _embedded(encoder, TEXTS)
    assert (found.shape, found.dtype) == ((len(TEXTS), SIZE), np.float32)
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)
    assert np.concatenate([_embedded(encoder, [text]) for text in TEXTS]) == pytest.approx(found, abs=1e-5)


@pytest.mark.parametrize("damage", ["modules.json", "model.safetensors", "config.json"])
def test_a_damaged_encoder_is_one_clear_line(tmp_path, damage):
    folder = tiny_encoder(tmp_path)
    (folder / damage).write_text("{")
    with pytest.raises(ArtifactError, match="is no encoder that can be loaded: ") as raised:
        encoder_named(str(folder))
    assert "\n" not in str(raised.value)


def test_too_little_memory_is_a_failure_of_the_infrastructure():
    class Full:
        def encode(self, texts, **options):
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory\nat ...")

    with pytest.raises(InfrastructureError, match=r"the encoder failed: DefaultCPUAllocator: can't allocate memory$"):
        _embedded(Full(), ["a"])


@given(st.integers(0, 230), st.integers(2, 30), st.data())
def test_windows_reach_every_place_from_the_end_to_the_top(count, size, data):
    step = data.draw(st.integers(1, size))
    found = list(windows(count, size, step))
    assert {place for start, end in found for place in range(start, end)} == set(range(count))
    assert all(0 <= start < end <= start + size for start, end in found)
    assert [start for start, _ in found] == sorted({start for start, _ in found}, reverse=True)


def test_a_hundred_functions_are_nineteen_windows_of_ten():
    found = list(windows(100, 10, 5))
    assert (len(found), found[0], found[1], found[-1]) == (19, (90, 100), (85, 95), (0, 10))
    assert list(windows(5, 10, 5)) == [(0, 5)]
    assert list(windows(12, 10, 5)) == [(2, 12), (0, 7)]


@given(st.permutations(range(8)), st.sampled_from([" > ", ">", "  >\n"]), st.sampled_from(["", "Of the 8 functions, [1]: "]))
def test_a_whole_reply_is_applied_as_it_is(order, between, before):
    assert read_order(before + between.join(f"[{number + 1}]" for number in order), 8) == list(order)


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
