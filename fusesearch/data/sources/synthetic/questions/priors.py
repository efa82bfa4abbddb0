"""Leaves out questions whose answers are too common, so that none is a good guess."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fusesearch.core.schema import Instance

MOST = 0.05
"""Share of a family's questions that one answer may have."""

LEAST = 2


def without_common(instances: Sequence[Instance]) -> tuple[list[Instance], int]:
    """The instances without surplus questions, in order, and how many those are. Instances that are no questions stay."""
    families = Counter(row.truth.expected.family for row in instances if row.truth and row.truth.expected)
    answers: Counter[tuple[str, ...]] = Counter()
    kept = []
    for row in instances:
        expected = row.truth.expected if row.truth else None
        if expected is not None:
            answer = (expected.family, *expected.values)
            answers[answer] += 1
            if answers[answer] > max(LEAST, MOST * families[expected.family]):
                continue
        kept.append(row)
    return kept, len(instances) - len(kept)
