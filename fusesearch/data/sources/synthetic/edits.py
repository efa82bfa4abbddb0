"""A Python file's text and tree, and small changes of the text of one function in it.

For :mod:`~fusesearch.data.sources.synthetic.mutations`, which plants faults.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Edit = tuple[int, int, str] | None

COMPARISONS: dict[type[ast.cmpop], str] = {
    **{ast.Eq: "==", ast.NotEq: "!=", ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"},
    **{ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="},
}
OPERATORS: dict[type[ast.operator], tuple[str, str]] = {
    **{ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "+"), ast.Div: ("/", "*"), ast.Pow: ("**", "*")},
    **{ast.FloorDiv: ("//", "%"), ast.Mod: ("%", "//"), ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<")},
    **{ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"), ast.BitXor: ("^", "|")},
}
"""Operators by their nodes, each with another one."""


def split_lines(text: str) -> list[str]:
    """Lines as Python's parser counts them, ends kept (``str.splitlines`` also splits at form feeds and the like)."""
    return re.findall(r"[^\n]*\n|[^\n]+$", text)


class Source:
    """A file's text and tree, with character offsets for nodes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self._starts = [0]
        for line in split_lines(text):
            self._starts.append(self._starts[-1] + len(line))
        self._ascii = text.isascii()

    def offset(self, line: int, column: int) -> int:
        """Character offset of a line (1-based) and a UTF-8 column as ``ast`` gives it."""
        start = self._starts[line - 1]
        if self._ascii:
            return start + column
        return start + len(self.text[start : self._starts[line]].encode()[:column].decode())

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Start and end offset of a node."""
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def of(self, node: ast.AST) -> str:
        """Text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def lines(self, first: int, last: int) -> tuple[int, int]:
        """Offsets of whole lines, with the end of the last."""
        return self._starts[first - 1], self._starts[last]


class Scope:
    """What generators know about the function around a node.

    ``parents`` of its nodes, its ``variables``, the line on which each is ``first_bound`` (0 for an argument), and the
    ``attributes`` that it uses of each.
    """

    def __init__(self, source: Source, function: FunctionNode) -> None:
        self.source, self.function = source, function
        self.parents = {child: parent for parent in ast.walk(function) for child in ast.iter_child_nodes(parent)}
        named = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        self.first_bound: dict[str, int] = {argument.arg: 0 for argument in named}
        attributes: dict[str, set[str]] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self.first_bound[node.id] = min(self.first_bound.get(node.id, node.lineno), node.lineno)
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                attributes.setdefault(node.value.id, set()).add(node.attr)
        self.attributes = {name: sorted(values) for name, values in attributes.items()}
        self.variables = [name for name in self.first_bound if name not in ("self", "cls", "_")]

    def replace(self, node: ast.AST, text: str) -> tuple[int, int, str]:
        """An edit that replaces the node by ``text``."""
        start, end = self.source.span(node)
        return start, end, text

    def between(self, left: ast.AST, right: ast.AST, old: str, new: str) -> Edit:
        """An edit of the operator ``old`` between two nodes; None unless it occurs there once."""
        start, end = self.source.span(left)[1], self.source.span(right)[0]
        gap = self.source.text[start:end]
        if gap.count(old) != 1 or "#" in gap:
            return None
        at = start + gap.index(old)
        return at, at + len(old), new

    def statement(self, node: ast.AST) -> ast.stmt:
        """The statement that a node belongs to."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def drop(self, statement: ast.stmt) -> Edit:
        """An edit that removes a statement's lines; None when its block or line would not survive that."""
        blocks = (getattr(self.parents.get(statement), name, None) for name in ("body", "orelse", "finalbody"))
        block = next((block for block in blocks if isinstance(block, list) and statement in block), None)
        if block is None or len(block) < 2 or statement is self.function.body[-1]:
            return None
        start, end = self.source.lines(statement.lineno, statement.end_lineno or statement.lineno)
        text = self.source.text
        before = text[start : self.source.span(statement)[0]]
        after = text[self.source.span(statement)[1] : end].strip()
        return None if before.strip() or (after and not after.startswith("#")) else (start, end, "")


def nodes_of(function: FunctionNode) -> Iterator[ast.AST]:
    """The function and its body, without docstrings, annotations, raises and asserts."""
    yield function
    pending: list[ast.AST] = list(reversed(_body(function)))
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom | ast.JoinedStr | ast.ClassDef):
            continue
        children = _body(node) if isinstance(node, FunctionNode) else list(ast.iter_child_nodes(node))
        skipped = node.annotation if isinstance(node, ast.AnnAssign) else None
        pending.extend(child for child in reversed(children) if child is not skipped)


def _body(function: FunctionNode) -> list[ast.stmt]:
    has_docstring = ast.get_docstring(function, clean=False) is not None
    return function.body[1:] if has_docstring else list(function.body)


def operand(node: ast.AST, scope: Scope) -> str:
    """The text of an expression, in parentheses unless it stands anywhere without."""
    text = scope.source.of(node)
    return text if isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant) else f"({text})"


def swapped(nodes: list[ast.expr], scope: Scope) -> Iterator[Edit]:
    """Edits that exchange two neighbouring expressions of a list."""
    for left, right in pairwise(nodes):
        first, second = scope.source.span(left), scope.source.span(right)
        text = scope.source.text
        if text[slice(*first)] != text[slice(*second)] and "(" not in text[first[1] : second[0]]:
            yield first[0], second[1], text[slice(*second)] + text[first[1] : second[0]] + text[slice(*first)]
