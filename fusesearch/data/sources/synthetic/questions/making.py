"""The questions of one package: candidates of all families, altered, checked against one search, and a balanced choice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from fusesearch.agents.answers import share_right
from fusesearch.data.sources.synthetic.corpus import Corpus, shortened
from fusesearch.data.sources.synthetic.questions.altering import alter
from fusesearch.data.sources.synthetic.questions.families import Asker, Question
from fusesearch.data.sources.synthetic.recording import Unit
from fusesearch.data.sources.synthetic.sandbox import Sandbox
from fusesearch.localizers.answerers.grep_once import grep_once


@dataclass(frozen=True)
class Asked:
    """Questions of a package; those with an ``original`` are about ``altered``, the others about the package as it is.

    ``altered`` has the committed text of the files that differ. ``table`` counts candidates, kept and dropped by family, and
    kept by hops.
    """

    questions: list[Question]
    altered: dict[str, bytes]
    table: dict[str, Any]


def make_questions(corpus: Corpus, units: Sequence[Unit], seed: int, sandbox: Sandbox, keep: int) -> Asked:
    """At most ``keep`` questions, families taking turns; at least half of them need several look-ups."""
    asker = Asker(corpus, seed, sandbox)
    found = asker.questions(units)
    with_literal = [(question, question.literal) for group in found.values() for question in group if question.literal]
    altered, texts = alter(asker, with_literal)
    files = {path: shortened(text).text for path, text in texts.items()}
    plain = {file.path: corpus.committed(file.path).text for file in corpus.files}
    groups = {family: [question for question in group if not question.literal] for family, group in found.items()}
    for question in altered:
        groups[question.expected.family].append(question)
    for family, group in groups.items():
        snapshots = [{**plain, **files} if question.literal else plain for question in group]
        groups[family] = list(
            _mixed([_searched(question, snapshot) for question, snapshot in zip(group, snapshots, strict=True)])
        )
    kept = _balanced([question for turn in zip_longest(*groups.values()) for question in turn if question], keep)
    table = {
        "kept": dict(Counter(question.expected.family for question in kept)),
        "found": {family: len(group) for family, group in groups.items()},
        "easy": {family: sum(question.expected.hops <= 1 for question in group) for family, group in groups.items()},
        "hops": {
            family: dict(sorted(Counter(str(q.expected.hops) for q in kept if q.expected.family == family).items()))
            for family in groups
        },
        "dropped": {
            family: {reason: count for (of, reason), count in sorted(asker.dropped.items()) if of == family and count}
            for family in groups
        },
    }
    return Asked(kept, {path: text.encode() for path, text in files.items()}, table)


def _searched(question: Question, files: dict[str, str]) -> Question:
    """The question, with no hops if one search for its name answers it."""
    if share_right(grep_once(question.text, files), question.expected) < 1:
        return question
    return Question(question.text, question.expected.model_copy(update={"hops": 0}), question.literal)


def _balanced(questions: Sequence[Question], keep: int) -> list[Question]:
    """The first ones, with no more that need one look-up at most than others."""
    hard = [question for question in questions if question.expected.hops > 1][:keep]
    easy = [question for question in questions if question.expected.hops <= 1][: min(len(hard), keep // 2)]
    chosen = {id(question) for question in [*easy, *hard[: keep - len(easy)]]}
    return [question for question in questions if id(question) in chosen]


def _mixed(questions: Sequence[Question]) -> Iterator[Question]:
    """Questions of two and more hops and the others by turns, the harder first."""
    hard = [question for question in questions if question.expected.hops > 1]
    easy = [question for question in questions if question.expected.hops <= 1]
    yield from (question for pair in zip_longest(hard, easy) for question in pair if question)
