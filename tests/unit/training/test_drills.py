"""A drill repeats what it listed."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st

from tasks.training.drills import drill
from tasks.training.renaming import Names

POOL = Names(["alpha", "beta", "gamma", "matrix"], ["Graph", "a", "ing", "orp"])


@given(st.integers(0, 10**6))
def test_the_second_half_says_every_definition_of_the_first_again(seed: int) -> None:
    lines = drill(random.Random(seed), POOL).splitlines()
    told, asked = lines[: len(lines) // 2], lines[len(lines) // 2 :]
    places = sorted(re.fullmatch(r"(/repo/\S+\.py):(\d+):def (\w+)\(", line).groups() for line in told)
    again = [re.fullmatch(r"(\w+) (/repo/\S+\.py), line (\d+)", line).groups() for line in asked]
    assert sorted((path, line, name) for name, path, line in again) == places
