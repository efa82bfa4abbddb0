"""How each paper evaluates the same episodes: which instances count, which part of their truth, and which averages.

A protocol only selects and averages scores, so the same scores work for all protocols. No paper counts changelogs, manuals or
tests, so a protocol reduces truth to files and functions of code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from fusesearch.code.kinds import is_code
from fusesearch.core.errors import ConfigError
from fusesearch.core.schema import Instance, Score, Truth
from fusesearch.evaluation import metrics, statistics
from fusesearch.evaluation.quality import ACCURACY_AT, RANKED, Quality, accuracy_at
from fusesearch.evaluation.statistics import Statistic

LEVELS = ("file", "function")
LONGEST_ISSUE = 20_000
"""Characters, the same as the filter's."""


@dataclass(frozen=True)
class Protocol:
    """Name, source, the instances that count, the columns of its table, and the two columns that its paper compares."""

    name: str
    source: str
    keeps: Callable[[Truth], bool]
    columns: tuple[Statistic, ...]
    headline: tuple[str, str]
    max_issue_chars: int | None = None
    questions: bool = False
    """Whether it is about questions, which no other protocol counts."""

    def select(self, instances: Iterable[Instance]) -> list[Instance]:
        """The instances that count. Raises :class:`DataError` for one without truth."""
        truths = ((row, metrics.truth_of(row)) for row in instances)
        rows = ((row, code_of(truth)) for row, truth in truths if (truth.expected is not None) == self.questions)
        return [row for row, truth in rows if self.keeps(truth) and not self._too_long(len(row.problem_statement))]

    def view(self, scores: Iterable[Score]) -> list[Score]:
        """Scores of the instances that count, against the code of their truth; errored ones stay, without figures."""
        if self.questions:
            return [score for score in scores if score.family]
        short = (score for score in scores if not self._too_long(score.issue_chars))
        kept = [(score, truth) for score in short if self.keeps(truth := code_of(_truth_of(score)))]
        return [metrics.against(score, truth) for score, truth in kept]

    def _too_long(self, chars: int | None) -> bool:
        return self.max_issue_chars is not None and chars is not None and chars > self.max_issue_chars

    def read(self, scores: Iterable[Score]) -> dict[str, float | None]:
        """One table row from a system's scores, with keys such as ``file_f1`` or ``function_recall@5``."""
        counted = self.view(scores)
        return {column.name: statistics.estimate(counted, column) for column in self.columns}


def protocol_named(name: str) -> Protocol:
    """The protocol called ``name``. Raises :class:`ConfigError` with the known names."""
    if name not in PROTOCOLS:
        raise ConfigError(f"protocol {name!r} is unknown: use one of {', '.join(PROTOCOLS)}")
    return PROTOCOLS[name]


def code_of(truth: Truth) -> Truth:
    """The part of a truth that is code, without tests, documentation and configuration."""
    return Truth(
        files=[*filter(is_code, truth.files)],
        functions=[*filter(_in_code, truth.functions)],
        added_files=[*filter(is_code, truth.added_files)],
        added_functions=[*filter(_in_code, truth.added_functions)],
        unread=[*filter(is_code, truth.unread)],
    )


def _in_code(entity: str) -> bool:
    return is_code(entity.partition("::")[0])


def _modifies_functions(truth: Truth) -> bool:
    """Whether at least one function that exists at the base commit is modified."""
    return bool(truth.files and truth.functions)


def _one_file(truth: Truth) -> bool:
    """Whether exactly one file is modified, none is added, and an existing function is modified; others may be added.

    On SWE-bench Verified, with issues of at most :data:`LONGEST_ISSUE` characters, this keeps 386 instances with 386 files, the
    number that the tables of FuseSearch pool over, and 511 functions (theirs: 510). The filter with ``single_file`` and
    ``skip: [adds_function]`` keeps the same (``experiments/benchmarks/truth/RESULTS.md``). Two more instances have longer issues.
    """
    return _modifies_functions(truth) and len(truth.files) == 1 and not truth.added_files


def _one_file_adds_nothing(truth: Truth) -> bool:
    """As :func:`_one_file`, with no function added, so that the whole truth exists beforehand (361 instances of Verified)."""
    return _one_file(truth) and not truth.added_functions


def _pooled() -> tuple[Statistic, ...]:
    every = (statistics.pooled(level, figure) for level in LEVELS for figure in Quality._fields)
    return (*every, statistics.combined_pooled_f1("f1"))


def _mean() -> tuple[Statistic, ...]:
    return (*(statistics.mean(f"{level}_{figure}") for level in LEVELS for figure in Quality._fields), statistics.mean("f1"))


def _ranked() -> tuple[Statistic, ...]:
    return tuple(statistics.averaged(f"{level}_{name}", level, of) for level in LEVELS for name, of in RANKED.items())


def _accuracy() -> tuple[Statistic, ...]:
    levels = ((level, k) for level, cuts in ACCURACY_AT.items() for k in cuts)
    return tuple(statistics.averaged(f"{level}_acc@{k}", level, partial(accuracy_at, k=k)) for level, k in levels)


_F1 = ("file_f1", "function_f1")
ANSWERS = ("answer_score", "from_memory", "evidence_seen")
"""The share that is right, and how often the answer was remembered or its evidence seen."""

PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol(
            "fusesearch", "FuseSearch section 4: one file of code, counts pooled over instances",
            _one_file, _pooled(), _F1, LONGEST_ISSUE,
        ),
        Protocol(
            "single_file", "as fusesearch, where no function is added either",
            _one_file_adds_nothing, _pooled(), _F1, LONGEST_ISSUE,
        ),
        Protocol("codescout", "CodeScout: mean over instances that modify a function", _modifies_functions, _mean(), _F1),
        Protocol(
            "tooltrain", "ToolTrain section 4.2: ranked metrics, mean over instances that modify a function",
            _modifies_functions, _ranked(), ("file_recall@5", "function_recall@5"),
        ),
        Protocol(
            "locagent", "LocAgent: Acc@k, the whole truth within the first k, over instances that modify a function",
            _modifies_functions, _accuracy(), ("file_acc@5", "function_acc@10"),
        ),
        Protocol(
            "exact", "questions with exact answers: share that is right, mean over questions",
            lambda truth: True, tuple(map(statistics.mean, ANSWERS)), ("answer_score", "answer_score"), questions=True,
        ),
    )
}  # fmt: skip


def _truth_of(score: Score) -> Truth:
    added = {"added_files": score.added_files, "added_functions": score.added_functions}
    return Truth(files=score.true_files, functions=score.true_functions, unread=score.unread, **added)
