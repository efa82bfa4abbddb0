"""Which functions and lines of a repository an example reaches, and through how many of its functions."""

from __future__ import annotations

import ast
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
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

    @cached_property
    def entity(self) -> str:
        """``path::Qualified.name``."""
        return f"{self.path}::{self.name}"


def outermost_functions(tree: ast.Module, path: str) -> list[tuple[Function, FunctionNode]]:
    """Functions and methods at module or class level (also inside ``if`` and ``try`` there), in source order."""
    return [
        (
            Function(
                path,
                name,
                min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]),
                node.end_lineno or node.lineno,
            ),
            node,
        )
        for name, node in _functions(tree, "")
    ]


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, FunctionNode]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FunctionNode):
            yield prefix + child.name, child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.If | ast.Try | ast.With | ast.ExceptHandler | ast.For | ast.While):
            yield from _functions(child, prefix)


class BudgetSpent(BaseException):
    """Examples ran more calls and lines than recording allows."""


@dataclass
class Coverage:
    """Of one example: smallest number of functions passed through before each entity, lines run per path.

    ``events`` counts Python calls anywhere and lines of the repository.
    """

    hops: dict[str, int] = field(default_factory=dict)
    lines: dict[str, set[int]] = field(default_factory=dict)
    events: int = 0


class Watch:
    """Ends what runs too long by counting, not by the clock: Python calls anywhere and lines of one function.

    A loop that does not end is ended after the same number of events on every machine, however busy.
    """

    def __init__(self, code: CodeType, events: int) -> None:
        self._codes = set(map(id, _nested(code)))
        self._left = events
        self.spent = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Count what runs inside the block; :class:`BudgetSpent` is raised in it once too much did."""
        sys.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(None)

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        self._count()
        return self._line if id(frame.f_code) in self._codes else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        self._count()
        return self._line

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            self.spent = True
            raise BudgetSpent


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


class Recorder:
    """Records :class:`Coverage` with ``sys.settrace``; it stops after so many events, the same on every machine."""

    def __init__(self, files: dict[str, str], functions: Iterable[Function], budget: int) -> None:
        self._paths = files
        self._spans: dict[str, list[Function]] = {}
        for function in functions:
            self._spans.setdefault(function.path, []).append(function)
        self._starts = {path: [function.start for function in spans] for path, spans in self._spans.items()}
        # by id, because hashing a code object walks all of it; the object is kept so that its id stays taken
        self._known: dict[int, tuple[CodeType, Function | None]] = {}
        self._budget = budget
        self._depth = 0
        self.spent = False
        self.coverage = Coverage()

    @contextmanager
    def recording(self) -> Iterator[Coverage]:
        """Record what runs inside the block into a fresh coverage."""
        coverage = self.coverage = Coverage()
        self._depth = 0
        sys.settrace(self._called)
        try:
            yield coverage
        finally:
            sys.settrace(None)
            self._budget -= coverage.events

    def _count(self) -> None:
        self.coverage.events += 1
        if self.coverage.events > self._budget:
            self.spent = True
            raise BudgetSpent

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        self._count()
        code = frame.f_code
        if id(code) not in self._known:
            self._known[id(code)] = (code, self._function_of(code))
        function = self._known[id(code)][1]
        if function is None:
            return None
        named = code.co_name[0] != "<"
        if named:
            hops = self.coverage.hops
            hops[function.entity] = min(self._depth, hops.get(function.entity, self._depth))
            self._depth += 1
        return self._watch(self.coverage.lines.setdefault(function.path, set()), named)

    def _watch(self, lines: set[int], named: bool) -> Any:
        def local(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "line":
                lines.add(frame.f_lineno)
                self._count()
            elif event == "return" and named:
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
