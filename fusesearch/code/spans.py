"""First and last line of a function, in any language. Needs no parser, so that an answer from an index starts without one."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

PYTHON_SUFFIXES = (".py", ".pyi", ".pyw")


def is_python(path: str) -> bool:
    """Whether ``path`` is Python source by its suffix."""
    return path.lower().endswith(PYTHON_SUFFIXES)


@dataclass(frozen=True, order=True)
class FunctionSpan:
    """Lines ``start`` to ``end`` (1-based, inclusive) of the function ``name``, such as ``Outer.Inner.method``."""

    start: int
    end: int
    name: str

    def __contains__(self, line: int) -> bool:
        return self.start <= line <= self.end


def function_at(spans: list[FunctionSpan], line: int) -> FunctionSpan | None:
    """The function around ``line``; ``spans`` are in order of their first line."""
    index = bisect_right(spans, line, key=lambda span: span.start) - 1
    return spans[index] if index >= 0 and line in spans[index] else None
