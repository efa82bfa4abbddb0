"""Near-duplicates: found when texts are as similar as asked for, not when they are far from it."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.data.similarity import MIN_SHINGLES, Similar


def text(count: int, start: int = 0) -> str:
    return " ".join(map(str, range(start, start + count)))


@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.95])
def test_clearly_similar_texts_are_found_and_clearly_different_ones_are_not(threshold):
    similar = Similar(threshold, str.split)
    for start in range(0, 100_000, 1000):
        similar.add(text(200, start))
    rng = random.Random(0)
    for start in rng.sample(range(0, 100_000, 1000), 20):
        assert similar.holds(text(200, start))
        assert similar.holds(text(198, start))
        assert not similar.holds(text(200, start + 150))


@given(st.lists(st.text(max_size=5), max_size=30))
def test_any_text_is_like_itself_in_any_order_unless_it_is_too_short(texts):
    similar = Similar(0.9, lambda text: text.split(","))
    similar.add(",".join(texts))
    distinct = set(",".join(texts).split(","))
    assert similar.holds(",".join([*reversed(texts), *texts])) == (len(distinct) >= MIN_SHINGLES)
