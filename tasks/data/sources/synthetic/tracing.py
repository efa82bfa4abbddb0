"""Which functions and lines of a repository an example reaches, and through how many of its functions."""

from __future__ import annotations

import ast
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Function:
    """An outermost function of a file: ``name`` qualified by its classes, ``start`` including decorators, 1-based."""

    path: str
    name: str
    start: int
    end: int

    @property
    def entity(self) -> str:
        """``path::Qualified.name``."""
        return f"{self.path}::{self.name}"


def outermost_functions(tree: ast.Module, path: str) -> list[tuple[Function, FunctionNode]]:
    """Functions and methods at module or class level (also inside ``if`` and ``try`` there), in source order."""
    return [
        (Function(path, name, _first_line(node), node.end_lineno or node.lineno), node) for name, node in _functions(tree, "")
    ]


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, FunctionNode]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FunctionNode):
            yield prefix + child.name, child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.If | ast.Try | ast.With | ast.ExceptHandler | ast.For | ast.While):
            yield from _functions(child, prefix)


def _first_line(node: FunctionNode) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


class BudgetSpent(BaseException):
    """An example ran more lines of the repository than recording allows."""


@dataclass
class Coverage:
    """Of one example: smallest number of functions passed through before each entity, lines run per path, processor seconds."""

    hops: dict[str, int] = field(default_factory=dict)
    lines: dict[str, set[int]] = field(default_factory=dict)
    seconds: float = 0.0


class Recorder:
    """Records :class:`Coverage` with ``sys.settrace``; lines are counted, so that its limit is the same on every machine."""

    def __init__(self, files: dict[str, str], functions: Iterable[Function], budget: int) -> None:
        self._paths = files
        self._spans: dict[str, list[Function]] = {}
        for function in functions:
            self._spans.setdefault(function.path, []).append(function)
        self._starts = {path: [function.start for function in spans] for path, spans in self._spans.items()}
        self._known: dict[CodeType, Function | None] = {}
        self._budget = budget
        self._depth = 0
        self.spent = False
        self.coverage = Coverage()

    @contextmanager
    def recording(self) -> Iterator[Coverage]:
        """Record what runs inside the block into a fresh coverage."""
        self.coverage = Coverage()
        self._depth = 0
        sys.settrace(self._called)
        try:
            yield self.coverage
        finally:
            sys.settrace(None)

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if code not in self._known:
            self._known[code] = self._function_of(code)
        function = self._known[code]
        if function is None:
            return None
        depth = self._depth
        if code.co_name[0] != "<":
            self._depth += 1
            hops = self.coverage.hops
            if hops.get(function.entity, depth + 1) > depth:
                hops[function.entity] = depth
        return self._watch(self.coverage.lines.setdefault(function.path, set()), code.co_name[0] != "<")

    def _watch(self, lines: set[int], counted: bool) -> Any:
        def local(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "line":
                lines.add(frame.f_lineno)
                self._budget -= 1
                if self._budget < 0:
                    self.spent = True
                    raise BudgetSpent
            elif event == "return" and counted:
                self._depth -= 1
            return local

        return local

    def _function_of(self, code: CodeType) -> Function | None:
        path = self._paths.get(code.co_filename)
        if path is None or path not in self._spans:
            return None
        position = bisect_right(self._starts[path], code.co_firstlineno) - 1
        function = self._spans[path][position] if position >= 0 else None
        return function if function and code.co_firstlineno <= function.end and code.co_name != "<module>" else None
