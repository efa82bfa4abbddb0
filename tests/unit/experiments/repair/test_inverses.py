"""The original is among the candidates of each of its mutants, for every kind whose inverse is in the space."""

import ast
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.repair.inverses import OUTSIDE, candidates
from fusesearch.data.sources.synthetic.corpus import outermost_functions
from fusesearch.data.sources.synthetic.edits import Source
from fusesearch.data.sources.synthetic.mutations import KINDS, mutants

NAMES = st.sampled_from(["a", "b", "c"])
ATOMS = st.one_of(NAMES, st.integers(0, 5).map(str), st.sampled_from(["True", "1.5", "0.0", "a.x", "a.y", "b.x"]))

BOUNDS = st.one_of(NAMES, st.sampled_from(["0", "3", "-2", "(a + b)", "len(a)"]))


def joined(operators, expressions):
    return st.tuples(expressions, st.sampled_from(operators), expressions).map(lambda part: "({} {} {})".format(*part))


def larger(inner):
    arithmetic = ["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"]
    return st.one_of(
        joined(arithmetic, inner),
        joined(["<", "<=", ">", ">=", "==", "!=", "is", "is not", "in", "not in"], inner),
        joined(["and", "or"], inner),
        st.tuples(inner, inner, inner).map(lambda part: "({} if {} else {})".format(*part)),
        st.tuples(inner, inner).map(lambda part: "max({}, {})".format(*part)),
        st.tuples(NAMES, BOUNDS).map(lambda part: "{}[{}:]".format(*part)),
        st.tuples(NAMES, BOUNDS).map(lambda part: "{}[:{}]".format(*part)),
        inner.map("range({})".format),
        inner.map("range(0, {} + 1)".format),
    )


EXPRESSIONS = st.recursive(ATOMS, larger, max_leaves=5)
SIGNED = st.tuples(st.sampled_from(["", "-", "not ", "~"]), EXPRESSIONS).map("".join)
STATEMENTS = st.one_of(
    EXPRESSIONS.map("c = {}".format),
    st.tuples(st.sampled_from(["+", "-", "*", "//", "|"]), EXPRESSIONS).map(lambda part: "c {}= {}".format(*part)),
    SIGNED.map("if {}:\n    c = a".format),
    EXPRESSIONS.map("for c in {}:\n    if a:\n        break".format),
    SIGNED.map("if a:\n    return {}\nelse:\n    b = c".format),
    st.tuples(EXPRESSIONS, EXPRESSIONS).map(lambda part: "if b:\n    return {}, {}\nelse:\n    b = a".format(*part)),
)
FUNCTIONS = st.lists(STATEMENTS, min_size=1, max_size=3).map(
    lambda body: (
        "def keep(a, b):\n    return a.x, a.y, b.x\n\n\ndef f(a, b, c=1, d=True, e=2.0):\n"
        + textwrap.indent("\n".join([*body, "return c"]), "    ")
        + "\n"
    )
)


def functions_of(text):
    source = Source(text)
    return source, {function.name: node for function, node in outermost_functions(source.tree, "f.py")}


def kinds_undone(text):
    """By kind of fault whether the original is among the candidates, for every mutant of ``f`` that is another program."""
    source, functions = functions_of(text)
    original = ast.dump(functions["f"])
    found = []
    for mutant in mutants(source, functions["f"], set(range(1, text.count("\n") + 2))):
        try:
            changed, mutated = functions_of(mutant.apply(text))
        except (SyntaxError, ValueError):
            continue
        if ast.dump(mutated["f"]) != original:
            found.append((mutant.kind, mutant.apply(text), undone(changed, mutated["f"], original, mutant)))
    return found


def undone(source, function, original, mutant):
    for candidate in candidates(source, function):
        if candidate.change.end < mutant.start or candidate.change.start > mutant.start + len(mutant.replacement):
            continue
        try:
            if ast.dump(functions_of(candidate.change.apply(source.text))[1]["f"]) == original:
                return True
        except (SyntaxError, ValueError):
            continue
    return False


@settings(max_examples=40)
@given(FUNCTIONS)
def test_every_fault_of_a_kind_in_the_space_can_be_undone(text):
    for kind, mutated, found in kinds_undone(text):
        assert found or kind in OUTSIDE, f"{kind}\n{mutated}"


CASES = {
    "comparison_flipped": "return a == b",
    "boundary_changed": "return a < b <= 3",
    "default_changed": "return d",
    "off_by_one": "return a[1]",
    "range_bound": "return a[1:], a[:-2], range(b - 1), range(len(a))",
    "swapped_arguments": "return divmod(a, b)",
    "wrong_operator": "a.x += b\nc *= 2\nreturn a // b",
    "wrong_boolean": "return a and b or c",
    "condition_negated": "return 1 if not a else 2 if b else 3",
    "wrong_return": "if a:\n    return -b\nif b:\n    return a, b\nif c:\n    return not (a or b)\nreturn c",
    "wrong_variable": "return [a, b]",
    "wrong_attribute": "return [a.x, a.y]",
    "break_continue": "for c in a:\n    if c:\n        break\n    continue",
    "wrong_constant": "return [True, 0.25]",
}


@pytest.mark.parametrize("kind", CASES)
def test_each_kind_in_the_space_is_undone(kind):
    text = f"def keep(a):\n    return a.x, a.y\n\n\ndef f(a, b, c=1, d=True):\n{textwrap.indent(CASES[kind], '    ')}\n"
    found = [was_undone for of, _, was_undone in kinds_undone(text) if of == kind]
    assert found
    assert all(found)


def test_every_kind_is_in_the_space_or_named_as_outside():
    assert CASES.keys() | OUTSIDE == KINDS.keys()
    assert not CASES.keys() & OUTSIDE


def test_text_that_the_fault_removed_cannot_be_had_again():
    text = "def f(a, b):\n    if not a:\n        return 0\n    b.append(a)\n    return b\n"
    removed = [found for kind, _, found in kinds_undone(text) if kind in ("guard_dropped", "missing_call")]
    assert removed == [False, False]


def test_candidates_are_distinct_changes_of_one_function_and_take_the_kinds_in_turn():
    source, functions = functions_of("def g(a):\n    return a == 1\n\n\ndef f(a, b=2):\n    return a < 1 and not b\n")
    found = candidates(source, functions["f"])
    texts = [candidate.change.apply(source.text) for candidate in found]
    assert len(set(texts)) == len(texts)
    assert all(text.startswith("def g(a):\n    return a == 1\n") for text in texts)
    kinds = [candidate.change.kind for candidate in found]
    assert kinds[:3] == ["comparison", "default", "constant"]
    assert [c.lines for c in found if c.change.kind == "default"] == [frozenset()] * 2
    assert {c.lines for c in found if c.change.kind != "default"} == {frozenset({6})}
