"""Reproducers of a package: examples that pass, and what each of them reaches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tasks.data.sources.synthetic import doctests
from tasks.data.sources.synthetic.corpus import Corpus, digest
from tasks.data.sources.synthetic.sandbox import Sandbox, violations
from tasks.data.sources.synthetic.tracing import Coverage, Recorder

MAX_EXAMPLES = 30
MAX_EVENTS_OF_DOCSTRING = 200_000
MAX_EVENTS_OF_EXAMPLE = 60_000
MAX_SECONDS_OF_DOCSTRING = 60.0
"""Only for what spends its time outside Python, where no events are counted; others reach their events long before."""
SHARE_OF_BUDGET = 0.5


@dataclass(frozen=True)
class Unit:
    """A reproducer: the examples to run in order, the last being the one checked, and what that one reaches."""

    identity: str
    module: str
    examples: tuple[doctests.Example, ...]
    coverage: Coverage

    @property
    def chars(self) -> int:
        """Length of what a report has to quote."""
        return sum(len(example.source) for example in self.examples) + len(self.examples[-1].want)


def record(corpus: Corpus, seed: int, sandbox: Sandbox, docstrings: int) -> Iterator[Unit]:
    """Run so many docstrings once, each in a child of its own, and yield what can serve as a reproducer."""
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
    def run() -> dict[int, Coverage]:
        recorder = Recorder(corpus.paths, [function for function, _ in corpus.functions.values()], MAX_EVENTS_OF_DOCSTRING)
        return _run(docstring, corpus, recorder)

    return sandbox.run(run, cpu_seconds=MAX_SECONDS_OF_DOCSTRING) or {}


def _run(docstring: doctests.Docstring, corpus: Corpus, recorder: Recorder) -> dict[int, Coverage]:
    """Coverage of the examples that pass and can be reported, by index; in the child."""
    names = corpus.namespace(docstring.module)
    found: dict[int, Coverage] = {}
    for index, example in enumerate(docstring.examples[:MAX_EXAMPLES]):
        with recorder.recording() as coverage:
            outcome = doctests.run_example(example, names)
        if recorder.spent:
            break
        if coverage.events <= MAX_EVENTS_OF_EXAMPLE and outcome.passed and doctests.is_reportable(example) and not violations:
            found[index] = coverage
        violations.clear()
    return found
