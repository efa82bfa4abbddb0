"""A drill repeats what it listed."""

import random
import re

from hypothesis import given
from hypothesis import strategies as st

from fusesearch.training.nano.drills import drill
from fusesearch.training.nano.renaming import Names

POOL = Names(["alpha", "beta", "gamma", "matrix"], ["Graph", "a", "ing", "orp"])


@given(st.integers(0, 10**6))
def test_each_definition_is_queried_by_name_and_by_line(seed):
    context, queries = drill(random.Random(seed), POOL)
    places = [re.fullmatch(r"(/repo/\S+\.py):(\d+):def (\w+)\(", line).groups() for line in context.splitlines()]
    by_name = {(path, line, name) for name, path, line in re.findall(r"^(\w+) (/repo/\S+\.py), line (\d+)$", queries, re.M)}
    by_line = {(path, line, name) for line, path, name in re.findall(r"^(\d+) of (/repo/\S+\.py) has (\w+)$", queries, re.M)}
    assert by_name == by_line == set(places)
    assert len(queries.splitlines()) == 2 * len(places)
    assert len({name for _, _, name in places}) == len({line for _, line, _ in places}) == len(places)
