"""Converts published answers to this project's terms and counts every name that does not fit.

A name that does not exist stays in the prediction as written, at its rank, because it was a wrong answer. A class, a variable or
lines outside functions exist but are not functions, so ``functions`` leaves them out. Duplicates are dropped.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from fusesearch.code.names import REAL, Place, Reason, file_named, functions_named
from fusesearch.core.errors import DataError
from fusesearch.evaluation.predictions import Prediction
from fusesearch.evaluation.published.claims import Published
from fusesearch.evaluation.published.snapshot import Snapshot, Snapshots

EXAMPLES = 5

FILE, FUNCTION = "file", "function"


class Base(NamedTuple):
    """Where an instance starts: ``owner/name`` and a commit."""

    repo: str
    commit: str


@dataclass
class Tally:
    """Counts of names by level that were found, or by level and why they were not.

    ``examples`` has a few ``(instance, text)`` for each reason.
    """

    empty: int = 0
    unknown: int = 0
    repeated: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    unmatched: Counter[tuple[str, Reason]] = field(default_factory=Counter)
    examples: dict[tuple[str, Reason], list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))

    def note(self, level: str, place: Place, instance_id: str, text: str) -> None:
        """Count one name."""
        if place.reason is None:
            self.found[level] += 1
            return
        key = (level, place.reason)
        self.unmatched[key] += 1
        if len(self.examples[key]) < EXAMPLES:
            self.examples[key].append((instance_id, text))

    def add(self, level: str, known: dict[str, None], names: list[str]) -> None:
        """Add names to the known ones, and count those that are known."""
        self.repeated[level] += bool(names) and all(name in known for name in names)
        known |= dict.fromkeys(name for name in names if name)

    def named(self, level: str) -> int:
        """Number of names of a level."""
        return self.found[level] + sum(count for (at, _), count in self.unmatched.items() if at == level)


def import_predictions(
    answers: Iterable[Published], bases: Mapping[str, Base], repositories: Snapshots, tally: Tally, *, class_as_init: bool = False
) -> Iterator[Prediction]:
    """Predictions one at a time. Answers for instances without a base are counted as unknown and left out.

    Raises :class:`DataError` if an instance has two answers, and the errors of the repositories.
    """
    seen: set[str] = set()
    for given in answers:
        if given.instance_id in seen:
            raise DataError(f"{given.instance_id[:200]} is answered twice: import one run at a time")
        seen.add(given.instance_id)
        base = bases.get(given.instance_id)
        if base is None:
            tally.unknown += 1
            continue
        yield prediction(given, repositories.at(*base), tally, class_as_init=class_as_init)


def prediction(given: Published, snapshot: Snapshot, tally: Tally, *, class_as_init: bool = False) -> Prediction:
    """One answer in the terms of a snapshot. If it lists no files, those of its names count."""
    named = given.files or tuple(dict.fromkeys(claim.path for claim in given.claims))
    files, functions = dict[str, None](), dict[str, None]()
    for text in named:
        place = file_named(text, snapshot)
        tally.note(FILE, place, given.instance_id, text)
        tally.add(FILE, files, [place.path])
    for claim in given.claims:
        place = functions_named(claim, snapshot, class_as_init=class_as_init)
        tally.note(FUNCTION, place, given.instance_id, claim.text)
        tally.add(FUNCTION, functions, _entities(place, claim.name))
    tally.empty += not files
    return Prediction(instance_id=given.instance_id, files=list(files), functions=list(functions))


def answers_in(read: Callable[[Path], Iterator[Published]], paths: Iterable[Path]) -> Iterator[Published]:
    """The answers of several files of one run, in order."""
    for path in paths:
        yield from read(path)


def _entities(place: Place, text: str) -> list[str]:
    """Entries for ``functions``: what was found, or the name as written if it does not exist, or nothing for other kinds."""
    if place.functions:
        return [f"{place.path}::{name}" for name in place.functions]
    if place.reason in REAL or not text.strip():
        return []
    return [f"{place.path}::{text.strip()}"]
