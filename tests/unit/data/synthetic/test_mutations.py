"""Mutants are small, parse, and stay inside the function."""

import ast
import heapq
import textwrap
from contextlib import suppress
from pathlib import Path

import pytest

from fusesearch.data.sources.synthetic.corpus import outermost_functions
from fusesearch.data.sources.synthetic.edits import Source
from fusesearch.data.sources.synthetic.mutations import KINDS, mutants

CASES = [
    ("comparison_flipped", "def f(a, b):\n    return a == b\n", "a != b"),
    ("boundary_changed", "def f(a, b):\n    return a <  b\n", "a <=  b"),
    ("guard_dropped", "def f(a):\n    if not a:  # nothing\n        return 0\n    return 1\n", "def f(a):\n    return 1"),
    ("default_changed", "def f(a, reverse=False):\n    return a\n", "reverse=True"),
    ("off_by_one", "def f(a):\n    return a[1]\n", "a[2]"),
    ("range_bound", "def f(n):\n    return list(range(1, n + 1))\n", "range(1, n)"),
    ("swapped_arguments", "def f(a, b):\n    return divmod(a, b)\n", "divmod(b, a)"),
    ("wrong_operator", "def f(a, b):\n    return a // b\n", "a % b"),
    ("wrong_boolean", "def f(a, b):\n    return a and b\n", "a or b"),
    ("missing_condition", "def f(a, b):\n    return a and b\n", "return a\n"),
    ("missing_call", "def f(a, b):\n    b.append(a)\n    return b\n", "def f(a, b):\n    return b"),
    ("missing_call", "def f(a):\n    return list(sorted(a))\n", "return sorted(a)"),
    ("missing_assignment", "def f(a):\n    a = a + 1\n    return a\n", "def f(a):\n    return a"),
    ("missing_keyword", "def f(a, k):\n    return sorted(a, key=k)\n", "sorted(a)"),
    ("condition_negated", "def f(a):\n    return 1 if a else 2\n", "if not a else"),
    ("wrong_return", "def f(a, b):\n    return a, b\n", "return b, a"),
    ("wrong_variable", "def f(a, b):\n    return [a]\n", "[b]"),
    ("wrong_attribute", "def f(a):\n    return [a.x, a.y]\n", "[a.y, a.y]"),
    ("break_continue", "def f(a):\n    for x in a:\n        break\n", "continue"),
    ("wrong_constant", "def f(a):\n    return [True]\n", "[False]"),
    ("comparison_flipped", "def f(a, b):\n    return 'žluťoučký', a == b\n", "'žluťoučký', a != b"),  # several bytes a character
    ("comparison_flipped", "def f(a):\n    x = 'a\x0cb'\n    return a == x\n", "a != x"),  # lines end where Python says
]


def all_mutants(text):
    source = Source(text)
    everywhere = set(range(1, text.count("\n") + 2))
    return [
        (function, m) for function, node in outermost_functions(source.tree, "f.py") for m in mutants(source, node, everywhere)
    ]


@pytest.mark.parametrize(("kind", "text", "expected"), CASES)
def test_each_kind_makes_its_fault_and_keeps_the_rest(kind, text, expected):
    results = [mutant.apply(text) for _, mutant in all_mutants(text) if mutant.kind == kind]
    assert any(expected in result for result in results), results
    assert {kind for kind, _, _ in CASES} == set(KINDS)


def docstrings(text):
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    return [ast.get_docstring(node) for node in ast.walk(ast.parse(text)) if isinstance(node, documented)]


@pytest.mark.parametrize("module", [textwrap, heapq])
def test_mutants_of_real_code_change_only_their_function_and_never_a_docstring(module):
    text = Path(module.__file__).read_text()
    lines = text.split("\n")
    found = all_mutants(text)
    assert len(found) > 100
    for function, mutant in found[::23]:
        changed = mutant.apply(text)
        tail = len(lines) - function.end
        assert changed.split("\n")[: function.start - 1] == lines[: function.start - 1]
        assert changed.split("\n")[-tail:] == lines[-tail:]
        with suppress(SyntaxError):
            assert docstrings(changed) == docstrings(text)


def test_only_lines_that_run_are_changed():
    text = "def f(a):\n    if a:\n        return a + 1\n    return a - 1\n"
    source = Source(text)
    [(_, node)] = outermost_functions(source.tree, "f.py")
    assert {m.line for m in mutants(source, node, {2, 4})} <= {2, 4}
