"""Docstrings shortened to their first line.

A package's docstrings hold the very examples the issues are made of: with them in the repository, searching for the
example would find the place. A reader with little room also sees more code this way.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate

from tasks.data.sources.synthetic.mutations import split_lines


@dataclass(frozen=True)
class Shortened:
    """A source text without the bodies of its docstrings."""

    text: str
    _lasts: tuple[int, ...] = ()
    _removed: tuple[int, ...] = ()

    def line(self, original: int) -> int:
        """Where line ``original`` (1-based) of the full text stands now; lines inside a docstring map to its first."""
        return original - self._removed[bisect_right(self._lasts, original - 1)] if self._lasts else original


def shortened(text: str) -> Shortened:
    """``text`` with every docstring of several lines replaced by its first line. Raises ``SyntaxError``."""
    lines = split_lines(text)
    spans = sorted(span for span in map(_docstring, ast.walk(ast.parse(text))) if span)
    kept: list[str] = []
    position = 0
    for first, last, summary in spans:
        kept += [*lines[position : first - 1], summary]
        position = last
    removed = accumulate((last - first for first, last, _ in spans), initial=0)
    return Shortened("".join([*kept, *lines[position:]]), tuple(last for _, last, _ in spans), tuple(removed))


def _docstring(node: ast.AST) -> tuple[int, int, str] | None:
    """First and last line of a docstring that stands alone on several lines, and the line to put there."""
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or not node.body:
        return None
    first = node.body[0]
    if not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)):
        return None
    alone = first.lineno > getattr(node, "lineno", 0) and (len(node.body) == 1 or node.body[1].lineno > (first.end_lineno or 0))
    if not alone or first.end_lineno == first.lineno:
        return None
    text = first.value.value.strip().split("\n")[0].replace("\\", "").replace('"', "'").strip()
    return first.lineno, first.end_lineno or first.lineno, f'{" " * first.col_offset}"""{text or "..."}"""\n'
