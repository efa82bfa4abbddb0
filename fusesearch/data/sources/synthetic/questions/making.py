"""The questions of one package: candidates of all families, altered, checked against one search, and a balanced choice."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from random import Random
from typing import Any

from fusesearch.agents.answers import share_right
from fusesearch.agents.questions import default_pattern, read_back
from fusesearch.core.schema import Expected
from fusesearch.data.sources.synthetic.corpus import Corpus, digest, shortened
from fusesearch.data.sources.synthetic.questions.families import Asker, Question
from fusesearch.data.sources.synthetic.questions.runtime import altered_values
from fusesearch.data.sources.synthetic.sandbox import Sandbox


@dataclass(frozen=True)
class Asked:
    """Questions of a package; those with an ``original`` are about ``altered``, the others about the package as it is.

    ``altered`` has the committed text of the files that differ. ``table`` counts candidates, kept and dropped by family, and
    kept by hops.
    """

    questions: list[Question]
    altered: dict[str, bytes]
    table: dict[str, Any]


def make_questions(corpus: Corpus, seed: int, sandbox: Sandbox, keep: int) -> Asked:
    """At most ``keep`` questions, families taking turns; no more than half of ``keep`` need one look-up at most."""
    asker = Asker(corpus, seed)
    found = asker.questions()
    altered, texts = alter(asker, [question for group in found.values() for question in group if question.literal], sandbox)
    files = {path: shortened(text).text for path, text in texts.items()}
    plain = {file.path: corpus.committed(file.path).text for file in corpus.files}
    groups: dict[str, list[Question]] = {}
    for family, group in found.items():
        certain = [_searched(question, plain) for question in group if not question.literal]
        changed = [_searched(question, {**plain, **files}) for question in altered if question.expected.family == family]
        groups[family] = list(_mixed([*certain, *changed]))
    kept = _balanced([question for turn in zip_longest(*groups.values()) for question in turn if question], keep)
    table = {
        "kept": dict(Counter(question.expected.family for question in kept)),
        "found": {family: len(group) for family, group in groups.items()},
        "dropped": {
            family: {reason: count for (of, reason), count in sorted(asker.dropped.items()) if of == family and count}
            for family in groups
        },
    }
    return Asked(kept, {path: text.encode() for path, text in files.items()}, table)


def _searched(question: Question, files: Mapping[str, str]) -> Question:
    """The question, with no hops if one search for its name answers it."""
    if share_right(_seen_at_once(question.text, files), question.expected) < 1:
        return question
    return replace(question, expected=question.expected.model_copy(update={"hops": 0}))


LINES = 12
"""Lines below a definition that one look shows with it."""


def _seen_at_once(text: str, files: Mapping[str, str]) -> list[str]:
    """The answer that the first definition of the question's name shows, in the order of paths."""
    family, names = read_back(text) or ("", {"name": ""})
    name = names["name"].rpartition(".")[2]
    definition = re.compile(rf"^[ \t]*(?:async def|def|class) {re.escape(name)}\b", re.MULTILINE)
    found = ((path, definition.search(files[path])) for path in sorted(files) if path.endswith(".py"))
    path, match = next(((path, match) for path, match in found if match), ("", None))
    if match is None:
        return []
    if family == "exported":
        return [f"/repo/{path}::{name}"]
    shown = "\n".join(files[path][match.end() - len(match[0].lstrip()) :].split("\n")[:LINES])
    value = default_pattern(names["parameter"]).search(shown)
    return [value["value"]] if value else []


def _balanced(questions: Sequence[Question], keep: int) -> list[Question]:
    """The first ones; those that need one look-up at most are no more than half of ``keep``."""
    hard = [question for question in questions if question.expected.hops > 1][:keep]
    easy = [question for question in questions if question.expected.hops <= 1][: keep // 2]
    chosen = {id(question) for question in [*easy, *hard[: keep - len(easy)]]}
    return [question for question in questions if id(question) in chosen]


def _mixed(questions: Sequence[Question]) -> Iterator[Question]:
    """Questions of two and more hops and the others by turns, the harder first."""
    hard = [question for question in questions if question.expected.hops > 1]
    easy = [question for question in questions if question.expected.hops <= 1]
    yield from (question for pair in zip_longest(hard, easy) for question in pair if question)


WORDS = (
    *("amber", "basalt", "cedar", "delta", "ember", "fjord", "gravel", "harbor", "indigo", "juniper", "kelp", "lagoon"),
    *("maple", "nectar", "onyx", "pebble", "quartz", "raven", "saffron", "tundra", "umber", "violet", "willow", "zephyr"),
)
SECONDS = 60.0


def alter(asker: Asker, found: Sequence[Question], sandbox: Sandbox) -> tuple[list[Question], dict[str, str]]:
    """The questions with their new truths, and the altered texts by path.

    A module that does not run with its new literals keeps its own, and its questions are dropped, as is a question whose new
    literal the running module does not show.
    """
    by_path: dict[str, list[Question]] = defaultdict(list)
    for question in found:
        by_path[question.definition.path].append(question)
    kept: list[Question] = []
    texts: dict[str, str] = {}
    for path, asked in by_path.items():
        shown = [(question.definition.name, question.expected.subject) for question in asked]
        new = dict(zip(shown, (_other(question.expected, asker.seed) for question in asked), strict=True))
        text = _exchanged(asker.corpus, path, {q.literal: new[key] for q, key in zip(asked, shown, strict=True) if q.literal})
        runs = altered_values(asker.corpus, asker.program.modules[path], path, text, list(new), sandbox, SECONDS)
        for question, key in zip(asked, shown, strict=True):
            if runs.get(key) != new[key]:
                asker.dropped[question.expected.family, "altered module does not show it"] += 1
                continue
            change = {"values": [new[key]], "original": question.expected.values[0]}
            kept.append(replace(question, expected=question.expected.model_copy(update=change)))
            texts[path] = text
    return kept, texts


def _other(expected: Expected, seed: int) -> str:
    """Another literal of the same type; one name gets different ones in different places, so that none is a good guess."""
    value = ast.literal_eval(expected.values[0])
    draw = Random(digest(seed, "altered", expected.subject, *expected.evidence))
    if isinstance(value, str):
        return repr(draw.choice([word for word in WORDS if word != value]))
    other: int | float = value
    while other in (value, 0, 1):
        whole = isinstance(value, int)
        other = draw.randint(2, max(99, 2 * abs(int(value)))) if whole else float(f"{abs(value) * draw.uniform(0.1, 9):.2g}")
    return repr(other)


def _exchanged(corpus: Corpus, path: str, new: Mapping[ast.expr, str]) -> str:
    """The file's text with other literals, each on its line."""
    source = corpus.sources[path]
    text = source.text
    for start, end, literal in sorted(((*source.span(node), literal) for node, literal in new.items()), reverse=True):
        text = text[:start] + literal + text[end:]
    return text
