"""Examples are cut down to what they need, and run as an interactive session would run them."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.data.sources.synthetic import doctests
from fusesearch.data.sources.synthetic.corpus import outermost_functions
from fusesearch.data.sources.synthetic.recording import Recorder

TEXT = '''
"""Module.

>>> 1 + 1
2
"""

class Box:
    """A box.

    >>> from os.path import join, split
    >>> unused = 3
    >>> items = []
    >>> items.append(4)
    >>> join("a", "b")  # doctest: +NORMALIZE_WHITESPACE
    'a/b'
    >>> items
    [4]
    >>> items[9]
    Traceback (most recent call last):
    IndexError: list index out of range
    """

    def open(self):
        """
        >>> Box().open()
        1
        """
        return 1
'''


@pytest.fixture
def found():
    return {docstring.owner: docstring for docstring in doctests.collect(ast.parse(TEXT), "box.py", "box")}


def shown(examples):
    return [example.shown for example in examples]


def test_examples_of_modules_classes_and_methods_are_found(found):
    assert list(found) == ["box.py", "box.py::Box", "box.py::Box.open"]


def test_a_reproducer_has_the_statements_its_names_need_and_no_other(found):
    assert shown(doctests.reproducer(found["box.py::Box"], 5)) == ["items = []", "items.append(4)", "items"]
    # imports are trimmed, and directives hidden
    assert shown(doctests.reproducer(found["box.py::Box"], 4)) == ["from os.path import join", 'join("a", "b")']


def test_a_session_runs_to_its_end_when_everything_is_as_documented_and_stops_at_the_first_difference(found):
    examples = found["box.py::Box"].examples
    outcomes = doctests.run_examples(examples, {})
    assert len(outcomes) == len(examples)
    assert all(outcome.passed for outcome in outcomes)
    wrong = doctests.Example("1 + 1\n", "3\n", None, doctests.OPTIONS)
    [outcome] = doctests.run_examples([wrong, wrong], {})
    assert (outcome.passed, outcome.got) == (False, "2\n")


def test_an_exception_is_reported_with_type_and_message_and_a_promised_one_that_does_not_come_is_a_failure():
    assert not doctests.run_example(doctests.Example("1\n", "", "ValueError: no\n", doctests.OPTIONS), {}).passed
    outcome = doctests.run_example(doctests.Example("int('x')\n", "3\n", None, doctests.OPTIONS), {})
    assert not outcome.passed
    assert outcome.exception == "ValueError"
    assert "invalid literal" in outcome.message


@pytest.mark.parametrize(
    ("source", "got"), [("object()\n", "<object object at 0x...>\n"), ("{}[object()]\n", "KeyError: <object object at 0x...>\n")]
)
def test_memory_addresses_are_not_quoted(source, got):
    outcome = doctests.run_example(doctests.Example(source, "3\n", None, doctests.OPTIONS), {})
    assert outcome.got == got
    assert "0x7" not in outcome.message


@pytest.mark.parametrize("want", ["<object at 0x7f3a12>\n", "", "x" * 1000])
def test_outputs_that_no_report_could_quote_are_left_out(want):
    assert not doctests.is_reportable(doctests.Example("f()\n", want, None, doctests.OPTIONS))


@given(st.text(max_size=200))
def test_any_docstring_can_be_read(text):
    tree = ast.Module(body=[ast.Expr(value=ast.Constant(value=text + "\n>>> 1\n1\n"))], type_ignores=[])
    for docstring in doctests.collect(tree, "x.py", "x"):
        for index in range(len(docstring.examples)):
            found = doctests.reproducer(docstring, index)
            assert found is None or len(found) <= index + 1


CALLS = """
def outer(x):
    return [middle(x) for _ in range(2)]

def middle(x):
    return inner(x)

def inner(x):
    return x
"""


def test_hops_count_the_functions_passed_through_and_lines_those_run():
    names = {}
    exec(compile(CALLS, "/calls.py", "exec"), names)
    functions = [function for function, _ in outermost_functions(ast.parse(CALLS), "calls.py")]
    recorder = Recorder({"/calls.py": "calls.py"}, functions, 1000)
    with recorder.recording() as coverage:
        names["outer"](1)
    assert coverage.hops == {"calls.py::outer": 0, "calls.py::middle": 1, "calls.py::inner": 2}
    assert coverage.lines == {"calls.py": {3, 6, 9}}
    with recorder.recording() as second:
        names["inner"](1)
    assert second.hops == {"calls.py::inner": 0}
