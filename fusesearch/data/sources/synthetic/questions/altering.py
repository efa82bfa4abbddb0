"""The altered snapshot: literals that questions ask for are exchanged, so that what a model remembers of a package is wrong."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

from fusesearch.core.schema import Expected
from fusesearch.data.sources.synthetic.corpus import Corpus, digest
from fusesearch.data.sources.synthetic.questions.families import Asker, Literal, Question
from fusesearch.data.sources.synthetic.questions.runtime import altered_values

WORDS = (
    *("amber", "basalt", "cedar", "delta", "ember", "fjord", "gravel", "harbor", "indigo", "juniper", "kelp", "lagoon"),
    *("maple", "nectar", "onyx", "pebble", "quartz", "raven", "saffron", "tundra", "umber", "violet", "willow", "zephyr"),
)
SECONDS = 60.0


def alter(asker: Asker, found: Sequence[tuple[Question, Literal]]) -> tuple[list[Question], dict[str, str]]:
    """The questions with their new truths, and the altered texts by path.

    A module that does not run with its new literals keeps its own, and its questions are dropped, as is a question whose new
    literal the running module does not show.
    """
    by_path: dict[str, list[tuple[Question, Literal]]] = defaultdict(list)
    for question, literal in found:
        by_path[literal.path].append((question, literal))
    kept: list[Question] = []
    texts: dict[str, str] = {}
    for path, asked in by_path.items():
        new = {(literal.name, literal.parameter): _other(question.expected, asker.seed) for question, literal in asked}
        text = _exchanged(asker.corpus, path, {literal.node: new[literal.name, literal.parameter] for _, literal in asked})
        runs = altered_values(asker.corpus, asker.program.modules[path], path, text, list(new), asker.sandbox, SECONDS)
        for question, literal in asked:
            value = new[literal.name, literal.parameter]
            if runs.get((literal.name, literal.parameter)) != value:
                asker.dropped[question.expected.family, "altered module does not show it"] += 1
                continue
            change = {"values": [value], "original": question.expected.values[0]}
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
