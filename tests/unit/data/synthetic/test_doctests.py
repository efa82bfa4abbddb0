"""Examples are cut down to what they need, and run as an interactive session would run them."""

import ast

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


def test_a_reproducer_has_the_statements_its_names_need_and_no_other():
    found = {docstring.owner: docstring for docstring in doctests.collect(ast.parse(TEXT), "box.py", "box")}
    assert list(found) == ["box.py", "box.py::Box", "box.py::Box.open"]
    for place, statements in (
        (5, ["items = []", "items.append(4)", "items"]),
        (4, ["from os.path import join", 'join("a", "b")']),  # imports are trimmed, and directives hidden
    ):
        assert [example.shown for example in doctests.reproducer(found["box.py::Box"], place)] == statements
    outcomes = doctests.run_examples(found["box.py::Box"].examples, {})
    assert [outcome.passed for outcome in outcomes] == [True] * len(found["box.py::Box"].examples)


def example(source, want, error=None):
    return doctests.Example(source, want, error, doctests.OPTIONS)


def test_a_session_stops_at_the_first_difference_and_says_what_came_without_addresses_of_memory():
    [outcome] = doctests.run_examples([example("1 + 1\n", "3\n")] * 2, {})
    assert (outcome.passed, outcome.got) == (False, "2\n")
    assert not doctests.run_example(example("1\n", "", "ValueError: no\n"), {}).passed  # the promised one does not come
    outcome = doctests.run_example(example("int('x')\n", "3\n"), {})
    assert (outcome.passed, outcome.exception) == (False, "ValueError")
    assert "invalid literal" in outcome.message
    for source, got in (("object()\n", "<object object at 0x...>\n"), ("{}[object()]\n", "KeyError: <object object at 0x...>\n")):
        outcome = doctests.run_example(example(source, "3\n"), {})
        assert outcome.got == got
        assert "0x7" not in outcome.message
    # outputs that no report could quote
    assert not any(doctests.is_reportable(example("f()\n", want)) for want in ("<object at 0x7f3a12>\n", "", "x" * 1000))


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
