"""In which order the repairer tries functions: by itself, or by the answer of a localizer."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fusesearch.evaluation.predictions import Prediction

FIRST = 5
"""Functions of a localizer's first answer, as many as ToolTrain's tables count."""

ALONE, RANDOM, TRUE = "alone", "random", "true function"
ANSWER, PRE_SEARCH, SUB_AGENT = "answer", "pre-search", "sub-agent"

_FRAME = re.compile(r'File "([^"\n]+)", line \d+, in (\w+)')
_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class Order:
    """Functions in the order of trying. ``configuration`` says how ``system`` was used."""

    system: str
    configuration: str
    functions: Sequence[str]


def orders(
    issue: str, functions: Sequence[str], true: Sequence[str], found: Mapping[str, Prediction], key: str, draws: int
) -> list[Order]:
    """All orders of one issue over the ``functions`` of its snapshot. ``key`` is the source of chance.

    ``alone``: first what the issue names, then the rest by chance. A localizer is used in three ways: its first
    :data:`FIRST` functions and no others (``answer``); the same and then ``alone`` (``pre-search``); its whole list and then
    ``alone`` (``sub-agent``: asked again after failures). The bounds are the true function and ``draws`` random orders.
    """
    alone = by_issue(issue, functions, key)
    bounds = [Order(TRUE, TRUE, [name for name in true if name in set(functions)]), Order(ALONE, ALONE, alone)]
    bounds += [Order(RANDOM, f"{RANDOM} {draw}", _shuffled(functions, f"{draw} {key}")) for draw in range(draws)]
    asked = []
    for system, answer in found.items():
        listed = by_answer(answer, alone)
        asked += [
            Order(system, ANSWER, listed[:FIRST]),
            Order(system, PRE_SEARCH, _distinct(listed[:FIRST], alone)),
            Order(system, SUB_AGENT, _distinct(listed, alone)),
        ]
    return bounds + asked


def by_issue(issue: str, functions: Iterable[str], key: str) -> list[str]:
    """Functions of the issue's traceback, innermost first; then those it names, in its order; then the others by chance."""
    frames = _FRAME.findall(issue)[::-1]
    places = {word: place for place, word in reversed([*enumerate(_WORD.findall(issue))])}

    def place(entity: str) -> tuple[int, int]:
        path, _, name = entity.partition("::")
        last = name.rpartition(".")[2]
        return frames.index((path, last)) if (path, last) in frames else len(frames), places.get(last, len(issue))

    return sorted(_shuffled(functions, key), key=place)


def by_answer(answer: Prediction, alone: Sequence[str]) -> list[str]:
    """The functions that an answer names, then the others of its files in the order ``alone``; without unknown ones."""
    inside: dict[str, list[str]] = {}
    for name in alone:
        inside.setdefault(name.partition("::")[0], []).append(name)
    known = set(alone)
    return _distinct([name for name in answer.functions if name in known], *(inside.get(path, []) for path in answer.files))


def _shuffled(functions: Iterable[str], key: str) -> list[str]:
    return sorted(functions, key=lambda name: hashlib.sha1(f"{key} {name}".encode(), usedforsecurity=False).digest())


def _distinct(*lists: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name for names in lists for name in names))
