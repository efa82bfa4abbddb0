"""The policy for an issue with a ranker's list below it (``agent.pre_search``): find the places, read them, name one or two.

Turn 1 finds where the listed functions begin, and what else has the names that the issue writes as code; the turns after it read
the places, in any language. Which place is right no word of its code tells better than the list's order (measured:
``experiments/real_fixes``), so the candidates of an issue propose one place after another, and the selection keeps the right one
below what all of them have read: the choice is what a student can learn.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from fusesearch.agents.parsing import parse_location
from fusesearch.core.schema import Answer, Location
from fusesearch.localizers.lexical.clues import IDENTIFIER, URL
from fusesearch.localizers.lexical.compact import Plan, grep, read
from fusesearch.localizers.lexical.evidence import Evidence, Step
from fusesearch.localizers.lexical.example import is_common

NAMES = 3
"""Names of the issue that are looked up."""
_HEAD = re.compile(r"^(?:## )?Candidates:?$", re.MULTILINE)
_NAME = re.compile(rf"({IDENTIFIER})\(|`[^`\n]*?({IDENTIFIER})`|\b([a-z]+[A-Z]\w+|[A-Za-z]+_\w+|[A-Z]+[a-z]+[A-Z]\w*)\b")
_DEFINES = re.compile(
    r"\b(?:def\w*|fun|func|function|fn|class|interface|struct|enum|trait|impl|module|object|type|record|extension)\b"
)


def divided(issue: str) -> tuple[str, list[Location]]:
    """The issue, and the places of the list below it; none without a list."""
    heads = [*_HEAD.finditer(issue)]
    if not heads:
        return issue, []
    lines = issue[heads[-1].end() :].splitlines()
    return issue[: heads[-1].start()], [p for line in lines if line.startswith("- ") and (p := parse_location(line[2:]))]


@dataclass
class Listed:
    """Decides from the issue without its list, the places listed and the evidence what to ask next and what to answer."""

    issue: str
    places: list[Location]
    evidence: Evidence
    plan: Plan

    def next_steps(self, turn: int, calls: int) -> list[Step]:
        """Up to ``calls`` calls for this turn (counted from 0), best first; empty when it is time to answer."""
        return self.evidence.unasked(self._read() if turn else self._find())[:calls]

    def answer(self) -> Answer:
        """The place that is this candidate's turn, every second time with the likeliest other one."""
        lead, more = divmod(self.plan.proposal, 2)
        first = self.ranked[lead % len(self.ranked)]
        return Answer(modify=[first, *[place for place in self.places if place != first][:more]])

    def _find(self) -> list[Step]:
        """Where the places are, with a name of the issue after each two."""
        steps = [self._look_up(place) for place in self.ranked]
        for number, name in enumerate(self._names[:NAMES]):
            steps.insert(3 * number + 2, grep(rf"\b{name}\b"))
        return steps

    def _look_up(self, place: Location) -> Step:
        name = _simple(place)
        return grep(rf"\b{name}\b", place.path) if name else read(place.path, 1)

    def _read(self) -> list[Step]:
        """The functions that were found, from their first line, unless that and the next are known."""
        found = [(place.path, line) for place in self.ranked if (line := self._line_of(place))]
        return [read(path, line) for path, line in found if line + 1 not in self.evidence.lines[path]]

    def _line_of(self, place: Location) -> int | None:
        """Where a function begins: the first line seen that defines its name, else the first that has it."""
        word = re.compile(rf"\b{_simple(place) or '$.'}\b")
        seen = sorted(self.evidence.lines.get(place.path, {}).items())
        having = [(number, text[: match.start()]) for number, text in seen if (match := word.search(text))]
        return next((number for number, before in having if _DEFINES.search(before)), next((n for n, _ in having), None))

    @cached_property
    def ranked(self) -> list[Location]:
        """The places, the first of each file before the others."""
        firsts = {place.path: place for place in reversed(self.places)}
        return sorted(self.places, key=lambda place: firsts[place.path] is not place)

    @cached_property
    def _names(self) -> list[str]:
        """What the issue writes as code, in order, without what the list has."""
        found = dict.fromkeys("".join(match) for match in _NAME.findall(URL.sub(" ", self.issue)))
        listed = {_simple(place) for place in self.places}
        return [name for name in found if len(name) > 3 and name not in listed and not is_common(name)]


def _simple(place: Location) -> str:
    """The name of a place's function without its classes; empty for a file, and for a name that is not an identifier."""
    name = re.split(r"\.|::|#", place.function or "")[-1]
    return name if name.isidentifier() else ""
