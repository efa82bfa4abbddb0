"""Runs candidates on one fault in the sandbox, each once, however many orders ask for it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import CodeType

from experiments.repair.inverses import Candidate, candidates
from experiments.repair.snapshot import File
from fusesearch.core.errors import DataError
from fusesearch.data.sources.synthetic import doctests
from fusesearch.data.sources.synthetic.corpus import (
    Corpus,
    Function,
    NotPatchable,
    compiled,
    digest,
    future_flags,
    mutated_node,
    replace_function,
)
from fusesearch.data.sources.synthetic.edits import Source
from fusesearch.data.sources.synthetic.recording import Recorder, Unit, Watch
from fusesearch.data.sources.synthetic.sandbox import Sandbox, violations

EVENTS = 200_000
"""Python calls and lines of the changed function that a candidate may run beyond ten times those of its examples."""

SECONDS = 5.0
"""CPU-second limit of a candidate, a fallback for the event counter."""

HIDDEN = 100
"""Most hidden examples of a submission, drawn by chance."""

HIDDEN_SECONDS = 60.0

Patch = tuple[Callable[[], None], CodeType]


@dataclass(frozen=True)
class Result:
    """A candidate's run: whether it passed the visible examples, whether also the hidden ones, and its processor seconds."""

    plausible: bool
    resolved: bool
    seconds: float


FAILED = Result(False, False, 0.0)


class Bench:
    """A package in this process, its examples, and which of them pass without a fault."""

    def __init__(self, corpus: Corpus, units: Sequence[Unit], sandbox: Sandbox) -> None:
        self.corpus = corpus
        self.units = {unit.identity: unit for unit in units}
        self.sandbox = sandbox
        self._passes: dict[str, bool] = {}

    def steady(self, units: Iterator[Unit]) -> Iterator[Unit]:
        """Those that pass twice in one child without a fault."""
        for unit in units:
            if unit.identity not in self._passes:
                self._passes[unit.identity] = self.passed([], None, [unit, unit], SECONDS) == 2
            if self._passes[unit.identity]:
                yield unit

    def passed(self, patches: Sequence[Patch], watched: CodeType | None, units: Sequence[Unit], seconds: float) -> int:
        """How many of ``units`` pass, up to the first that does not; 0 when the child hung, crashed or was stopped."""
        watch = Watch(watched, EVENTS + 10 * sum(unit.coverage.events for unit in units)) if watched else None

        def run() -> int:
            for install, _ in patches:
                install()
            for count, unit in enumerate(units):
                names = self.corpus.namespace(unit.module)
                if watch:
                    with watch.watching():
                        outcomes = doctests.run_examples(unit.examples, names)
                else:
                    outcomes = doctests.run_examples(unit.examples, names)
                if violations or (watch and watch.spent) or not outcomes[-1].passed:
                    return count
            return len(units)

        return self.sandbox.run(run, seconds) or 0

    def patch(self, source: Source, text: str, function: Function) -> Patch:
        """What installs a function of the snapshot's file, changed to ``text``. Raises :class:`NotPatchable`, ``SyntaxError``."""
        if function.entity not in self.corpus.functions:
            raise NotPatchable(function.entity)
        original = self.corpus.functions[function.entity][0]
        node = mutated_node(text, function, text.count("\n") - source.text.count("\n"))
        ast.increment_lineno(node, original.start - function.start)
        code = compiled(node, original, self.corpus.filenames[function.path], future_flags(source.tree))
        live = self.corpus.live(original)
        if not live:
            raise NotPatchable(function.entity)
        return lambda: replace_function(live, code, node), code


class Trials:
    """The candidates of one fault. ``true`` is the faulty function and ``example`` the identity of the issue's reproducer.

    The repairer sees the reproducer and the other examples of its docstring; hidden are all other examples that reach the
    true function or the changed one. Raises :class:`DataError` if the fault does not show here.
    """

    def __init__(self, bench: Bench, files: Mapping[str, File], true: str, example: str) -> None:
        self.bench = bench
        self._functions = {name: (file, *found) for file in files.values() for name, found in file.functions.items()}
        self._true = true
        self._spaces: dict[str, list[Candidate]] = {}
        self._results: dict[tuple[str, int], Result] = {}
        if true not in self._functions or true not in bench.corpus.functions:
            raise DataError("the true function is not in the installed package")
        unit = bench.units.get(example)
        if unit is None or not list(bench.steady(iter([unit]))):
            raise DataError("the reproducer does not pass here without the fault")
        docstring = example.rpartition("#")[0]
        others = (other for name, other in bench.units.items() if name.rpartition("#")[0] == docstring and other != unit)
        self.visible = [unit, *bench.steady(others)]
        file, function, _ = self._functions[true]
        try:
            self._fault = bench.patch(file.source, file.source.text, function)
        except (NotPatchable, SyntaxError, ValueError):
            raise DataError("the fault cannot be installed") from None
        started = bench.sandbox.used()
        if bench.passed([self._fault], self._fault[1], [unit], SECONDS):
            raise DataError("the reproducer does not show the fault")
        self.failing_seconds = bench.sandbox.used() - started
        """The outcome of a run in which nothing changed."""

    @cached_property
    def functions(self) -> list[str]:
        """All functions of the snapshot."""
        return list(self._functions)

    def space(self, entity: str) -> list[Candidate]:
        """The candidates of a function, in the order of trying."""
        if entity not in self._spaces:
            file, _, node = self._functions[entity]
            self._spaces[entity] = candidates(file.source, node)
        return self._spaces[entity]

    def reaches(self, entity: str) -> bool:
        """Whether the failing example runs the function."""
        return entity in self._reached

    def matters(self, entity: str, candidate: Candidate) -> bool:
        """Whether the failing example runs the changed lines; if not, the candidate's run is the failing run again."""
        return self.reaches(entity) and (not candidate.lines or bool(candidate.lines & self._reached[entity]))

    def result(self, entity: str, index: int) -> Result:
        """The outcome of a candidate on executed lines."""
        if (entity, index) not in self._results:
            self._results[entity, index] = self._run(entity, self.space(entity)[index])
        return self._results[entity, index]

    def _run(self, entity: str, candidate: Candidate) -> Result:
        bench, (file, function, _) = self.bench, self._functions[entity]
        started = bench.sandbox.used()
        try:
            patch = bench.patch(file.source, candidate.change.apply(file.source.text), function)
        except (SyntaxError, ValueError, RecursionError, NotPatchable):
            return FAILED
        patches = [patch] if entity == self._true else [self._fault, patch]
        plausible = bench.passed(patches, patch[1], self.visible, SECONDS) == len(self.visible)
        seconds = bench.sandbox.used() - started
        if not plausible:
            return Result(False, False, seconds)
        hidden = self._hidden(entity)
        return Result(True, bench.passed(patches, patch[1], hidden, HIDDEN_SECONDS) == len(hidden), seconds)

    def _hidden(self, entity: str) -> list[Unit]:
        seen = {unit.identity for unit in self.visible}
        units = [
            unit
            for name, unit in self.bench.units.items()
            if name not in seen and {self._true, entity} & unit.coverage.hops.keys()
        ]
        chosen = sorted(units, key=lambda unit: digest(self._true, unit.identity))[:HIDDEN]
        return list(self.bench.steady(iter(chosen)))

    @cached_property
    def _reached(self) -> dict[str, set[int]]:
        """The functions that the failing reproducer runs, and their lines in the snapshot."""
        corpus, unit = self.bench.corpus, self.visible[0]

        def run() -> dict[str, set[int]]:
            self._fault[0]()
            recorder = Recorder(corpus.paths, [function for function, _ in corpus.functions.values()], EVENTS)
            with recorder.recording() as coverage:
                doctests.run_examples(unit.examples, corpus.namespace(unit.module))
            return {entity: coverage.lines.get(entity.partition("::")[0], set()) for entity in coverage.hops}

        lines = self.bench.sandbox.run(run, SECONDS) or {}
        return {entity: self._in_snapshot(entity, found) for entity, found in lines.items() if entity in self._functions}

    def _in_snapshot(self, entity: str, lines: set[int]) -> set[int]:
        """Lines of the installed file as lines of the snapshot, whose docstrings are shorter; the fault was installed from it."""
        original, function = self.bench.corpus.functions[entity][0], self._functions[entity][1]
        committed = self.bench.corpus.committed(function.path)
        shift = function.start - original.start
        if entity != self._true:
            return {
                function.start + committed.line(line) - committed.line(original.start)
                for line in lines
                if original.start <= line <= original.end
            }
        return {line + shift for line in lines if function.start <= line + shift <= function.end}
