"""Reproducers of a package: examples that pass, and the functions and lines that each reaches."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from fusesearch.data.sources.synthetic import doctests
from fusesearch.data.sources.synthetic.corpus import Corpus, Function, digest
from fusesearch.data.sources.synthetic.sandbox import Sandbox, violations

MAX_EXAMPLES = 30
MAX_EVENTS_OF_DOCSTRING = 200_000
MAX_EVENTS_OF_EXAMPLE = 60_000
MAX_SECONDS_OF_DOCSTRING = 60.0
"""Only for examples that spend their time outside Python, where events are not counted; others reach their events earlier."""
SHARE_OF_BUDGET = 0.5


class BudgetSpent(BaseException):
    """Examples ran more calls and lines than recording allows."""


@dataclass
class Coverage:
    """One example's smallest number of functions passed through before each entity, and lines run per path.

    ``events`` counts Python calls anywhere and lines of the repository.
    """

    hops: dict[str, int] = field(default_factory=dict)
    lines: dict[str, set[int]] = field(default_factory=dict)
    events: int = 0


class Watch:
    """Ends examples that run too long by counting Python calls anywhere and lines of one function, not by the clock.

    An endless loop stops after the same number of events on every machine, however busy.
    """

    def __init__(self, code: CodeType, events: int) -> None:
        self._codes = set(map(id, _nested(code)))
        self._left = events
        self.spent = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Count what runs inside the block and raise :class:`BudgetSpent` there beyond the limit."""
        sys.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(None)

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        self._count()  # a call of its own also fixes the depth at which an endless recursion ends
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
    """Records :class:`Coverage` with ``sys.settrace`` and stops after ``budget`` events, the same on every machine."""

    def __init__(self, files: dict[str, str], functions: Iterable[Function], budget: int) -> None:
        self._paths = files
        self._spans: dict[str, list[Function]] = {}
        for function in functions:
            self._spans.setdefault(function.path, []).append(function)
        self._starts = {path: [function.start for function in spans] for path, spans in self._spans.items()}
        # by id, because hashing a code object walks all of it; keeping the object keeps its id from being reused
        self._known: dict[int, tuple[CodeType, Function | None]] = {}
        self._budget = budget
        self._depth = 0
        self.spent = False
        self.coverage = Coverage()

    @contextmanager
    def recording(self) -> Iterator[Coverage]:
        """Record what runs inside the block into a new coverage."""
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
        coverage = self.coverage
        coverage.events += 1  # as in `_count`, without the call: most of what an example costs is this counting
        if coverage.events > self._budget:
            self._count()
        code = frame.f_code
        known = self._known.get(id(code))
        if known is None:
            known = self._known[id(code)] = (code, self.function_of(code))
        function = known[1]
        if function is None:
            return None
        named = code.co_name[0] != "<"
        if named:
            hops = coverage.hops
            hops[function.entity] = min(self._depth, hops.get(function.entity, self._depth))
            self._depth += 1
        return self._watch(coverage.lines.setdefault(function.path, set()), named)

    def _watch(self, lines: set[int], named: bool) -> Any:
        coverage, budget = self.coverage, self._budget

        def local(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "line":
                lines.add(frame.f_lineno)
                coverage.events += 1
                if coverage.events > budget:
                    self._count()
            elif event == "return" and named:
                self._depth -= 1
            return local

        return local

    def function_of(self, code: CodeType) -> Function | None:
        """The function of the repository that a code object belongs to."""
        path = self._paths.get(code.co_filename)
        if path is None or path not in self._spans:
            return None
        position = bisect_right(self._starts[path], code.co_firstlineno) - 1
        function = self._spans[path][position] if position >= 0 else None
        return function if function and code.co_firstlineno <= function.end and code.co_name != "<module>" else None


@dataclass(frozen=True)
class Unit:
    """A reproducer: examples to run in order, and what the last one, which is checked, reaches."""

    identity: str
    module: str
    examples: tuple[doctests.Example, ...]
    coverage: Coverage

    @property
    def chars(self) -> int:
        """Length of what a report must quote."""
        return sum(len(example.source) for example in self.examples) + len(self.examples[-1].want)


def record(corpus: Corpus, seed: int, sandbox: Sandbox, docstrings: int) -> Iterator[Unit]:
    """Run ``docstrings`` docstrings, each once in its own child, and yield the reproducers."""
    chosen = sorted(corpus.docstrings, key=lambda docstring: digest(seed, "docstring", docstring.owner))[:docstrings]
    for docstring in chosen:
        if sandbox.spent(SHARE_OF_BUDGET):
            corpus.dropped["docstring not recorded in time"] += 1
            continue
        for index, coverage in _recorded(corpus, docstring, sandbox).items():
            examples = doctests.reproducer(docstring, index)
            if examples is not None and coverage.hops and not doctests.uses_private_names(examples):
                yield Unit(f"{docstring.owner}#{index}", docstring.module, examples, coverage)


def _recorded(corpus: Corpus, docstring: doctests.Docstring, sandbox: Sandbox) -> dict[int, Coverage]:
    """Coverage of the examples that pass and can be reported, by index."""

    def run() -> dict[int, Coverage]:
        recorder = Recorder(corpus.paths, [function for function, _ in corpus.functions.values()], MAX_EVENTS_OF_DOCSTRING)
        names = corpus.namespace(docstring.module)
        found: dict[int, Coverage] = {}
        for index, example in enumerate(docstring.examples[:MAX_EXAMPLES]):
            with recorder.recording() as coverage:
                outcome = doctests.run_example(example, names)
            if recorder.spent:
                break
            passed = outcome.passed and coverage.events <= MAX_EVENTS_OF_EXAMPLE and not violations
            if passed and doctests.is_reportable(example):
                found[index] = coverage
            violations.clear()
        return found

    return sandbox.run(run, cpu_seconds=MAX_SECONDS_OF_DOCSTRING) or {}
