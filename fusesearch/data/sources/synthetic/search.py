"""Searches for mutants that an example observes, spread over functions, kinds of fault and distances."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import CodeType

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
from fusesearch.data.sources.synthetic.edits import FunctionNode, Source
from fusesearch.data.sources.synthetic.issues import Mutated, Symptom, is_trivial, symptom_of, write_issue
from fusesearch.data.sources.synthetic.mutations import Mutant, mutants
from fusesearch.data.sources.synthetic.recording import Unit, Watch
from fusesearch.data.sources.synthetic.sandbox import Sandbox, violations

KEPT_PER_FUNCTION = 3
KEPT_PER_EXAMPLE = 3
ATTEMPTS_PER_FUNCTION = 10
EXAMPLES_PER_MUTANT = 3
SHARE_WITH_HOPS = 0.6
SHARE_WITH_EXCEPTION = 0.45
SHORT_CHARS = 260
EVENTS = 1_000_000
"""Python calls and lines of the changed function that a mutant may run beyond ten times those of its reproducers."""
MUTANT_SECONDS, UNTOUCHED_SECONDS = 4.2, 1.4
"""Processor seconds for the examples of a mutant, and for one run twice without it: a fallback where events are not counted.

Both lie in gaps, so that a machine's speed and load decide nothing: of nano's examples those with a fault take at most 3.1 or
at least 5.9 s, those without at most 0.8 or at least 3.0 s (Xeon of 2 cores, two at work).
"""


@dataclass
class Target:
    """A function that a reproducer reaches, and the attempts on it so far.

    ``direct`` reproducers call it themselves, ``indirect`` ones through other functions of the repository.
    """

    function: Function
    node: FunctionNode
    source: Source
    direct: list[Unit] = field(default_factory=list)
    indirect: list[Unit] = field(default_factory=list)
    pending: list[Mutant] = field(default_factory=list)
    attempts: int = 0
    kept: int = 0

    @property
    def open(self) -> bool:
        """Whether to try more mutants."""
        return bool(self.pending) and self.kept < KEPT_PER_FUNCTION and self.attempts < ATTEMPTS_PER_FUNCTION


@dataclass(frozen=True)
class Finding:
    """A mutant that a reproducer observed, and a user's issue about it."""

    function: Function
    mutant: Mutant
    text: str
    unit: Unit
    issue: str
    symptom: Symptom

    @property
    def hops(self) -> int:
        """Functions of the repository between the example and the mutated one."""
        return self.unit.coverage.hops[self.function.entity]


class Dropped(Exception):
    """The mutant cannot be used; the message is the reason to count."""


class MutantSearch:
    """Tries mutants one by one, in an order that depends on the seed and earlier results alone."""

    def __init__(self, corpus: Corpus, units: Iterable[Unit], seed: int, sandbox: Sandbox) -> None:
        self.corpus = corpus
        self.seed = seed
        self.sandbox = sandbox
        self.findings: list[Finding] = []
        self.attempted: Counter[str] = Counter()
        self.kept: Counter[str] = Counter()
        self._used: Counter[str] = Counter()
        self._passes: dict[str, bool] = {}
        self._queue = self._targets(units)

    def _targets(self, units: Iterable[Unit]) -> list[Target]:
        targets: dict[str, Target] = {}
        for unit in units:
            for entity, hops in unit.coverage.hops.items():
                function, node = self.corpus.functions[entity]
                target = targets.setdefault(entity, Target(function, node, self.corpus.sources[function.path]))
                (target.indirect if hops else target.direct).append(unit)
        for entity, target in targets.items():
            units_of_target = (*target.direct, *target.indirect)
            lines: set[int] = set().union(*(unit.coverage.lines.get(target.function.path, set()) for unit in units_of_target))
            found = [
                (digest(self.seed, entity, mutant.kind, mutant.start, mutant.replacement), mutant)
                for mutant in mutants(target.source, target.node, lines)
            ]
            target.pending = [mutant for _, mutant in sorted(found, key=lambda pair: pair[0])]
        return sorted(targets.values(), key=lambda target: digest(self.seed, "function", target.function.entity))

    def run(self, keep: int, attempts: int, report: Callable[[int], None]) -> None:
        """Search until it has found ``keep`` mutants, made ``attempts``, or has nothing left to try."""
        tried = 0
        while self._queue and len(self.findings) < keep and tried < attempts and not self.sandbox.spent():
            suits = (i for i, target in enumerate(self._queue) if (target.indirect if self._wants_hops else target.direct))
            target = self._queue.pop(next(suits, 0))
            mutant, units = self._choose(target)
            if mutant is not None:
                tried += 1
                self._attempt(target, mutant, units)
                report(len(self.findings))
            if target.open:
                self._queue.append(target)

    @property
    def _wants_hops(self) -> bool:
        return sum(finding.hops > 0 for finding in self.findings) < SHARE_WITH_HOPS * (len(self.findings) + 1)

    def _choose(self, target: Target) -> tuple[Mutant | None, list[Unit]]:
        """The next mutant to try, of a kind rare so far, with reproducers that run its line; drops mutants without any."""
        while target.pending:
            mutant = min(target.pending, key=lambda m: self.kept[m.kind] + self.attempted[m.kind] / 8)
            target.pending.remove(mutant)
            if units := self._units(target, mutant):
                return mutant, units
        return None, []

    def _attempt(self, target: Target, mutant: Mutant, units: list[Unit]) -> None:
        target.attempts += 1
        self.attempted[mutant.kind] += 1
        try:
            finding = self._observe(target, mutant, units)
        except Dropped as reason:
            self.corpus.dropped[str(reason)] += 1
            return
        self.findings.append(finding)
        target.kept += 1
        self.kept[mutant.kind] += 1
        self._used[finding.unit.identity] += 1

    def _observe(self, target: Target, mutant: Mutant, units: list[Unit]) -> Finding:
        text = mutant.apply(target.source.text)
        if any(text == finding.text for finding in self.findings):
            raise Dropped("same program as another")
        mutated = Mutated(target.function, text, text.count("\n") - target.source.text.count("\n"))
        patch, code = self._patch(target, mutated)
        unit, outcomes = self._first_failure(units, patch, code)
        if not self._passes_untouched(unit):
            raise Dropped("example fails without the fault")
        if is_trivial(unit.examples[len(outcomes) - 1], outcomes[-1]):
            raise Dropped("difference too small to report")
        exceptions = sum(bool(finding.symptom.exception) for finding in self.findings)
        if outcomes[-1].exception and exceptions > SHARE_WITH_EXCEPTION * len(self.findings) + 1:
            raise Dropped("enough exceptions")
        symptom = symptom_of(unit, outcomes, mutated, self.corpus)
        key = digest(self.seed, target.function.entity, mutant.start, mutant.replacement)
        issue = write_issue(symptom, self.corpus.package.title, key)
        if issue is None:
            raise Dropped("issue too long")
        if self._first_failure(units, patch, code, other_memory=True) != (unit, outcomes):
            raise Dropped("depends on unwritten memory")
        return Finding(target.function, mutant, text, unit, issue, symptom)

    def _units(self, target: Target, mutant: Mutant) -> list[Unit]:
        """Reproducers that run the mutated line, those at the distance wanted now first."""
        header = range(target.function.start, target.node.body[0].lineno)
        path = target.function.path

        def fits(unit: Unit) -> bool:
            fresh = self._used[unit.identity] < KEPT_PER_EXAMPLE and self._passes.get(unit.identity, True)
            return fresh and (mutant.line in header or mutant.line in unit.coverage.lines[path])

        def order(unit: Unit) -> tuple[bool, str]:
            return unit.chars > SHORT_CHARS, digest(self.seed, unit.identity, target.function.entity, mutant.start)

        groups = (target.indirect, target.direct) if self._wants_hops else (target.direct, target.indirect)
        return [unit for group in groups for unit in sorted(filter(fits, group), key=order)][:EXAMPLES_PER_MUTANT]

    def _patch(self, target: Target, mutated: Mutated) -> tuple[Callable[[], None], CodeType]:
        """A function for the child that installs the fault, and the code it installs."""
        try:
            node = mutated_node(mutated.text, target.function, mutated.lines_added)
            if ast.dump(node) == ast.dump(target.node):
                raise Dropped("same program as without the fault")
            filename = self.corpus.filenames[target.function.path]
            code = compiled(node, target.function, filename, future_flags(target.source.tree))
        except (SyntaxError, ValueError, RecursionError, NotPatchable):
            raise Dropped("not compiled") from None
        live = self.corpus.live(target.function)
        return lambda: replace_function(live, code, node), code

    def _first_failure(
        self, units: list[Unit], patch: Callable[[], None], code: CodeType, *, other_memory: bool = False
    ) -> tuple[Unit, list[doctests.Outcome]]:
        watch = Watch(code, EVENTS + 10 * sum(unit.coverage.events for unit in units))

        def run() -> tuple[int, list[doctests.Outcome]] | str:
            try:
                patch()
            except (NotPatchable, ValueError):
                return "function cannot be replaced"
            for position, unit in enumerate(units):
                names = self.corpus.namespace(unit.module)
                with watch.watching():
                    outcomes = doctests.run_examples(unit.examples, names)
                if violations:
                    return "touched the outside"
                if watch.spent:
                    return "ran too long"
                if not outcomes[-1].passed:
                    return position, outcomes
            return "not observed"

        result = self.sandbox.run(run, MUTANT_SECONDS, other_memory=other_memory) or "hung or crashed"
        if isinstance(result, str):
            raise Dropped(result)
        return units[result[0]], result[1]

    def _passes_untouched(self, unit: Unit) -> bool:
        """Whether the reproducer passes twice on the original package, in a child like the mutant's."""

        def run() -> bool:
            done = [doctests.run_examples(unit.examples, self.corpus.namespace(unit.module)) for _ in range(2)]
            return all(len(outcomes) == len(unit.examples) and outcomes[-1].passed for outcomes in done) and not violations

        if unit.identity not in self._passes:
            self._passes[unit.identity] = bool(self.sandbox.run(run, UNTOUCHED_SECONDS))
        return self._passes[unit.identity]
