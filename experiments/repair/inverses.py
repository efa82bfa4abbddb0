"""The repairer's space: every change of a function that undoes some fault of a known kind.

The repairer knows the kinds of :mod:`fusesearch.data.sources.synthetic.mutations`, but not the text before the fault, so it tries
all values that the kind leaves open: for a swapped comparison all other comparisons, for a wrong variable all other variables
of the function. Text that a fault removed (a guard, a statement, a call, a condition, a keyword) cannot be had
again: such faults are outside the space. Of removed slice bounds it tries small numbers.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, zip_longest

from fusesearch.data.sources.synthetic.edits import (
    COMPARISONS,
    OPERATORS,
    Edit,
    FunctionNode,
    Scope,
    Source,
    nodes_of,
    operand,
    scope_of,
    swapped,
)
from fusesearch.data.sources.synthetic.mutations import KINDS, Generator, Mutant

_FAMILIES = (("==", "!=", "<", "<=", ">", ">="), ("is", "is not"), ("in", "not in"))
_OPERATOR_TEXTS = tuple(text for text, _ in OPERATORS.values())
_BOUNDS = ("0", "1", "2", "3", "-1", "-2")
_PLUS_MINUS_ONE = re.compile(r"\s*[-+]\s*1$")


@dataclass(frozen=True)
class Candidate:
    """A change of a function, and the lines (1-based) of which one must run for it to matter; none: the function must run."""

    change: Mutant
    lines: frozenset[int]


def candidates(source: Source, function: FunctionNode) -> list[Candidate]:
    """The space of a function without repetitions: of each kind one in turn, within a kind in an order like chance."""
    scope = scope_of(source, function)
    scope.attributes = _attributes(source.tree)
    found: dict[str, list[Candidate]] = {kind: [] for kind in INVERSES}
    seen: set[tuple[int, int, str]] = set()
    for node in nodes_of(function):
        statement = scope.statement(node)
        line = getattr(node, "lineno", statement.lineno)
        lines = frozenset[int]() if statement is function else frozenset({statement.lineno, line})
        for kind, generate in INVERSES.items():
            for edit in generate(node, scope):
                if edit and edit not in seen and source.text[edit[0] : edit[1]] != edit[2]:
                    seen.add(edit)
                    found[kind].append(Candidate(Mutant(kind, *edit, line=line), lines))
    begin = source.span(function)[0]
    rows = [sorted(row, key=lambda candidate: _chance(candidate.change, begin)) for row in found.values()]
    return [candidate for turn in zip_longest(*rows) for candidate in turn if candidate]


def _chance(change: Mutant, begin: int) -> str:
    words = f"{change.kind} {change.start - begin} {change.end - begin} {change.replacement}"
    return hashlib.sha1(words.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def _attributes(tree: ast.Module) -> dict[str, list[str]]:
    """Attributes that the file reads or writes of each name: the fault may have replaced the function's only use of one."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.setdefault(node.value.id, set()).add(node.attr)
    return {name: sorted(attributes) for name, attributes in found.items()}


def _comparison(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if isinstance(node, ast.Compare):
        for operator, (left, right) in zip(node.ops, pairwise([node.left, *node.comparators]), strict=True):
            old = COMPARISONS[type(operator)]
            family = next(family for family in _FAMILIES if old in family)
            yield from (scope.between(left, right, old, new) for new in family if new != old)


def _default(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if node is scope.function:
        for default in (*scope.function.args.defaults, *scope.function.args.kw_defaults):
            if isinstance(default, ast.Constant):
                yield from (scope.replace(default, new) for new in _other_constants(default.value))


def _constant(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        yield from (scope.replace(node, new) for new in _other_constants(node.value))


def _other_constants(value: object) -> list[str]:
    if isinstance(value, bool):
        return [str(not value)]
    if isinstance(value, int):
        return [str(value + 1), *([str(value - 1)] if value else [])]
    return [repr(value / 2), "0.0"] if isinstance(value, float) else []


def _range_bound(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range" and len(node.args) in (1, 2):
        last, whole = node.args[-1], operand(node.args[-1], scope)
        new = (_PLUS_MINUS_ONE.sub("", scope.source.of(last)), f"{whole} + 1", f"{whole} - 1")
        yield from (scope.replace(last, text) for text in new if text)
    elif isinstance(node, ast.Slice):
        for bound in (node.lower, node.upper):
            if bound is not None and (text := _PLUS_MINUS_ONE.sub("", scope.source.of(bound))):
                yield scope.replace(bound, text)
        start = scope.source.span(node)[0]
        if node.lower is None:
            yield from ((start, start, bound) for bound in _BOUNDS)
        if node.upper is None:
            after = scope.source.text.index(":", scope.source.span(node.lower)[1] if node.lower else start) + 1
            yield from ((after, after, bound) for bound in _BOUNDS)


def _operator(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        old = OPERATORS[type(node.op)][0]
        yield from (scope.between(node.left, node.right, old, new) for new in _OPERATOR_TEXTS if new != old)
    elif isinstance(node, ast.AugAssign) and type(node.op) in OPERATORS:
        old = OPERATORS[type(node.op)][0]
        yield from (scope.between(node.target, node.value, f"{old}=", f"{new}=") for new in _OPERATOR_TEXTS if new != old)
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        known = isinstance(target, ast.Name) and scope.first_bound.get(target.id, node.lineno) < node.lineno
        if known or isinstance(target, ast.Attribute | ast.Subscript):
            yield from (scope.between(target, node.value, "=", f"{new}=") for new in _OPERATOR_TEXTS)


def _boolean(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if isinstance(node, ast.BoolOp):
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        yield from (scope.between(left, right, old, new) for left, right in pairwise(node.values))


def _negation(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if isinstance(node, ast.If | ast.IfExp):
        if isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not):
            yield scope.replace(node.test, operand(node.test.operand, scope))
        else:
            yield scope.replace(node.test, f"not {operand(node.test, scope)}")


def _return(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if isinstance(node, ast.Return) and node.value is not None:
        if isinstance(node.value, ast.Tuple):
            yield from swapped(node.value.elts, scope)
        else:
            yield from (scope.replace(node.value, f"{sign}{operand(node.value, scope)}") for sign in ("-", "not ", "~"))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Name) and node is scope.function.body[-1]:
        yield scope.replace(node.value, f"return {node.value.id}")


def _variable(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in scope.variables:
        others = () if isinstance(scope.parents[node], ast.Attribute) else scope.variables
        yield from (scope.replace(node, name) for name in others if name != node.id)


def _attribute(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name):
        end = scope.source.span(node)[1]
        others = (name for name in scope.attributes[node.value.id] if name != node.attr)
        yield from ((end - len(node.attr), end, name) for name in others)


INVERSES: dict[str, Generator] = {
    "comparison": _comparison,
    "default": _default,
    "constant": _constant,
    "range_bound": _range_bound,
    "swapped_arguments": KINDS["swapped_arguments"],
    "operator": _operator,
    "boolean": _boolean,
    "negation": _negation,
    "return": _return,
    "variable": _variable,
    "attribute": _attribute,
    "break_continue": KINDS["break_continue"],
}

OUTSIDE = frozenset({"guard_dropped", "missing_condition", "missing_call", "missing_assignment", "missing_keyword"})
"""Kinds of fault whose inverse is not in the space."""
