"""Near-duplicates: found when texts are as similar as asked for, not when they are far from it."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.data.similarity import MIN_SHINGLES, Similar


def shingles(count: int, start: int = 0) -> list[str]:
    return [f"shingle {number}" for number in range(start, start + count)]


def holds(similar: Similar, texts: list[str]) -> bool:
    return similar.holds(similar.signature(texts))


@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.95])
def test_clearly_similar_texts_are_found_and_clearly_different_ones_are_not(threshold):
    similar = Similar(threshold)
    for start in range(0, 100_000, 1000):
        similar.add(similar.signature(shingles(200, start)))
    rng = random.Random(0)
    for start in rng.sample(range(0, 100_000, 1000), 20):
        assert holds(similar, shingles(200, start))
        assert holds(similar, shingles(198, start))
        assert not holds(similar, shingles(200, start + 150))


@given(st.lists(st.text(max_size=5), max_size=30))
def test_any_text_is_like_itself_in_any_order_unless_it_is_too_short(texts):
    similar = Similar(0.9)
    similar.add(similar.signature(texts))
    assert holds(similar, [*reversed(texts), *texts]) == (len(set(texts)) >= MIN_SHINGLES)


def test_signatures_are_the_same_in_every_process():
    signature = Similar(0.8).signature(shingles(10))
    assert signature is not None
    assert signature == Similar(0.5).signature(reversed(shingles(10)))
    assert Similar(0.8).signature([]) is None
