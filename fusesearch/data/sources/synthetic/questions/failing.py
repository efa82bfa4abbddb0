"""Calls that are likely to fail, made from the examples of docstrings."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator
from typing import Any

from fusesearch.data.sources.synthetic import doctests
from fusesearch.data.sources.synthetic.recording import Unit

PROGRAMS_PER_EXAMPLE = 8


def failing(unit: Unit) -> Iterator[tuple[doctests.Example, ...]]:
    """A reproducer that ends in an exception; and with another argument in its last call: of the wrong sign or kind, or empty."""
    last = unit.examples[-1]
    if last.exception:
        yield unit.examples
    count = 0
    with contextlib.suppress(SyntaxError, ValueError):
        tree = ast.parse(last.source)
        call = tree.body[0].value if len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr) else None
        if not isinstance(call, ast.Call):
            return
        lists: tuple[list[Any], ...] = (call.args, call.keywords)
        for arguments, position in [(values, position) for values in lists for position in range(len(values))]:
            argument = arguments[position]
            value = argument.value if isinstance(argument, ast.keyword) else argument
            for other in _others(value):
                if count < PROGRAMS_PER_EXAMPLE:
                    count += 1
                    arguments[position] = ast.keyword(argument.arg, other) if isinstance(argument, ast.keyword) else other
                    changed = doctests.Example(ast.unparse(tree) + "\n", "", None, last.options)
                    yield (*unit.examples[:-1], changed)
            arguments[position] = argument


def _others(argument: ast.expr) -> list[ast.expr]:
    if isinstance(argument, ast.Constant) and isinstance(argument.value, int | float):
        return [ast.Constant(-argument.value or -1), ast.Constant(0), ast.Constant(2.5), ast.Constant("x")]
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        return [ast.Constant(""), ast.Constant("x"), ast.Constant(3)]
    if isinstance(argument, ast.List | ast.Tuple):
        return [ast.List([], ast.Load()), ast.Constant(3)]
    return [ast.Constant(None)]
