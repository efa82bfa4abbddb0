"""What runs too long is ended by counting, so that a busy machine ends nothing else."""

import gc

import pytest

from fusesearch.data.sources.synthetic.doctests import Example, run_example
from fusesearch.data.sources.synthetic.recording import BudgetSpent, Watch


@pytest.fixture(autouse=True)
def _no_collection():
    """Hypothesis has a callback of the garbage collector here: in watched code it would be counted, and swallow the end."""
    gc.disable()
    yield
    gc.enable()


def spin():
    number = 0
    while True:
        number += 1


def recurse(depth):
    return recurse(depth - 1) if depth else 0


def many_lines():
    number = 0
    while number < 1000:
        number += 1


def test_lines_of_the_watched_function_and_calls_anywhere_are_counted_and_no_other_lines():
    watch = Watch(spin.__code__, 1000)
    with pytest.raises(BudgetSpent), watch.watching():
        spin()  # calls nothing
    assert watch.spent
    watch = Watch(spin.__code__, 50)
    with watch.watching():
        recurse(30)
        many_lines()
    assert not watch.spent
    with pytest.raises(BudgetSpent), watch.watching():
        recurse(30)
    assert watch.spent


def endless(number):
    return endless(number + 1)


def test_the_counter_is_not_in_the_traceback_of_an_endless_recursion():
    example = Example("endless(0)\n", "1\n", None, 0)
    watch = Watch(endless.__code__, 100_000)
    with watch.watching():
        outcome = run_example(example, {"endless": endless})
    assert outcome.exception == "RecursionError"
    assert {frame.filename for frame in outcome.frames} == {__file__}
