"""Small faults in one function, each a minimal change of its text.

A mutant replaces one stretch of the source and keeps the formatting and comments around it, so that the patch that undoes
it is as small as a real one. ``KINDS`` has one generator per kind.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from fusesearch.data.sources.synthetic.edits import (
    COMPARISONS,
    OPERATORS,
    Edit,
    FunctionNode,
    Scope,
    Source,
    nodes_of,
    operand,
    swapped,
)

_COMPARE_FLIPPED = {
    **{"==": "!=", "!=": "==", "is": "is not", "is not": "is", "in": "not in", "not in": "in"},
    **{"<": ">", ">": "<", "<=": ">=", ">=": "<="},
}
_COMPARE_BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}


@dataclass(frozen=True)
class Mutant:
    """Replaces ``text[start:end]`` (character offsets into the file) by ``replacement``, on ``line`` (1-based)."""

    kind: str
    start: int
    end: int
    replacement: str
    line: int

    def apply(self, text: str) -> str:
        """The file's text with the fault."""
        return text[: self.start] + self.replacement + text[self.end :]


Generator = Callable[[ast.AST, Scope], Iterator[Edit]]


def mutants(source: Source, function: FunctionNode, lines: set[int]) -> list[Mutant]:
    """All mutants of a function on the given lines (1-based: those that examples run), in source order."""
    scope = Scope(source, function)
    found = []
    for node in nodes_of(function):
        statement = scope.statement(node)
        if statement.lineno not in lines and getattr(node, "lineno", 0) not in lines and statement is not function:
            continue
        for kind, generate in KINDS.items():
            for edit in generate(node, scope):
                if edit and source.text[edit[0] : edit[1]] != edit[2]:
                    found.append(Mutant(kind, *edit, line=getattr(node, "lineno", statement.lineno)))
    return found


def _comparison(node: ast.AST, scope: Scope, table: dict[str, str]) -> Iterator[Edit]:
    if isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
        for operator, left, right in zip(node.ops, operands, operands[1:], strict=False):
            old = COMPARISONS[type(operator)]
            if old in table:
                yield scope.between(left, right, old, table[old])


def _guard_dropped(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if not isinstance(node, ast.If) or node.orelse or len(node.body) > 3:
        return
    is_elif = scope.source.text.startswith("elif", scope.source.span(node)[0])
    if isinstance(node.body[-1], ast.Return | ast.Raise | ast.Continue) and not is_elif:
        yield scope.drop(node)


def _default_changed(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if node is not scope.function:
        return
    arguments = scope.function.args
    for default in (*arguments.defaults, *arguments.kw_defaults):
        if isinstance(default, ast.Constant) and (new := _other_constant(default.value)) is not None:
            yield scope.replace(default, new)


def _other_constant(value: object) -> str | None:
    if isinstance(value, bool):
        return str(not value)
    if isinstance(value, int):
        return str(value + 1)
    if isinstance(value, float) and value == value and abs(value) < 1e9:
        return repr(value * 2 if value else 1.0)
    return None


def _off_by_one(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if isinstance(node, ast.Constant) and type(node.value) is int and abs(node.value) < 1000:
        parent = scope.parents[node]
        if isinstance(
            parent, ast.BinOp | ast.Subscript | ast.Compare | ast.Assign | ast.AugAssign | ast.UnaryOp | ast.Return | ast.Call
        ):
            yield scope.replace(node, str(node.value + 1))
            if node.value > 0:
                yield scope.replace(node, str(node.value - 1))


def _range_bound(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range" and len(node.args) in (1, 2):
        last = node.args[-1]
        text = scope.source.of(last)
        if isinstance(last, ast.BinOp) and isinstance(last.op, ast.Add | ast.Sub) and scope.source.of(last.right) == "1":
            yield scope.replace(last, scope.source.of(last.left))
        else:
            yield scope.replace(last, f"{text} - 1")
    elif isinstance(node, ast.Slice):
        for bound in (node.lower, node.upper):
            if bound is not None and not isinstance(bound, ast.Constant | ast.UnaryOp):
                yield scope.replace(bound, f"{operand(bound, scope)} + 1")
            elif bound is not None:
                yield scope.replace(bound, "")


def _swapped_arguments(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if isinstance(node, ast.Call) and not any(isinstance(argument, ast.Starred) for argument in node.args):
        yield from swapped(node.args, scope)


def _wrong_operator(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        if isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
            return
        yield scope.between(node.left, node.right, *OPERATORS[type(node.op)])
    elif isinstance(node, ast.AugAssign) and type(node.op) in OPERATORS:
        old, new = OPERATORS[type(node.op)]
        yield scope.between(node.target, node.value, old + "=", new + "=")
        yield scope.between(node.target, node.value, old + "=", "=")


def _wrong_boolean(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if isinstance(node, ast.BoolOp) and len(node.values) == 2:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        yield scope.between(node.values[0], node.values[1], old, new)


def _missing_condition(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if isinstance(node, ast.BoolOp):
        for left, right in pairwise(node.values):
            start, end = scope.source.span(left)[1], scope.source.span(right)[1]
            if scope.source.text[start:end].count("(") == scope.source.text[start:end].count(")"):
                yield start, end, ""


def _missing_call(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield scope.drop(node)
    elif isinstance(node, ast.Call) and not isinstance(scope.parents[node], ast.Expr) and not node.keywords:
        if (
            len(node.args) == 1
            and isinstance(node.func, ast.Name)
            and isinstance(node.args[0], ast.Name | ast.Call | ast.Attribute)
        ):
            yield scope.replace(node, scope.source.of(node.args[0]))
        elif not node.args and isinstance(node.func, ast.Attribute):
            yield scope.replace(node, scope.source.of(node.func.value))


def _missing_assignment(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if isinstance(node, ast.AugAssign):
        yield scope.drop(node)
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        if not isinstance(target, ast.Name) or scope.first_bound.get(target.id, node.lineno) < node.lineno:
            yield scope.drop(node)


def _missing_keyword(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if isinstance(node, ast.Call) and node.keywords and node.args:
        items = [*node.args, *node.keywords]
        for before, keyword in zip(items[len(node.args) - 1 :], node.keywords, strict=False):
            if keyword.arg is not None:
                start, end = scope.source.span(before)[1], scope.source.span(keyword)[1]
                if scope.source.text[start : scope.source.span(keyword)[0]].strip() == ",":
                    yield start, end, ""


def _condition_negated(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if isinstance(node, ast.If | ast.IfExp):
        test = node.test
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            yield scope.replace(test, scope.source.of(test.operand))
        elif isinstance(test, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            yield scope.replace(test, f"not {scope.source.of(test)}")


def _wrong_return(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if not isinstance(node, ast.Return) or node.value is None:
        return
    value = node.value
    if isinstance(value, ast.Constant) and isinstance(value.value, bool):
        yield scope.replace(value, str(not value.value))
    elif isinstance(value, ast.Tuple) and len(value.elts) > 1:
        yield from swapped(value.elts, scope)
    elif isinstance(value, ast.UnaryOp):
        yield scope.replace(value, scope.source.of(value.operand))
    elif isinstance(value, ast.Name) and node is scope.function.body[-1]:
        start = scope.source.span(node)[0]
        yield start, scope.source.span(value)[0], ""


def _wrong_variable(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in scope.variables:
        if isinstance(scope.parents[node], ast.Attribute):
            return
        ready = [name for name in scope.variables if name != node.id and scope.first_bound[name] < node.lineno]
        if ready:
            yield scope.replace(node, ready[(node.lineno * 31 + node.col_offset) % len(ready)])


def _wrong_attribute(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name):
        others = [name for name in scope.attributes[node.value.id] if name != node.attr]
        if others:
            end = scope.source.span(node)[1]
            yield end - len(node.attr), end, others[(node.lineno * 31 + node.col_offset) % len(others)]


def _break_continue(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if isinstance(node, ast.Break | ast.Continue):
        yield scope.replace(node, "continue" if isinstance(node, ast.Break) else "break")


def _wrong_constant(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield scope.replace(node, str(not node.value))
    elif isinstance(node, ast.Constant) and isinstance(node.value, float):
        yield scope.replace(node, _other_constant(node.value) or "1.0")


KINDS: dict[str, Generator] = {
    "comparison_flipped": partial(_comparison, table=_COMPARE_FLIPPED),
    "boundary_changed": partial(_comparison, table=_COMPARE_BOUNDARY),
    "guard_dropped": _guard_dropped,
    "default_changed": _default_changed,
    "off_by_one": _off_by_one,
    "range_bound": _range_bound,
    "swapped_arguments": _swapped_arguments,
    "wrong_operator": _wrong_operator,
    "wrong_boolean": _wrong_boolean,
    "missing_condition": _missing_condition,
    "missing_call": _missing_call,
    "missing_assignment": _missing_assignment,
    "missing_keyword": _missing_keyword,
    "condition_negated": _condition_negated,
    "wrong_return": _wrong_return,
    "wrong_variable": _wrong_variable,
    "wrong_attribute": _wrong_attribute,
    "break_continue": _break_continue,
    "wrong_constant": _wrong_constant,
}
