"""The policy for an issue with a ranker's list below it (``agent.pre_search``): it looks up the first places and names them.

So it teaches how a list is used, on issues of any language; which of its answers are right, the selection says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fusesearch.agents.parsing import parse_location
from fusesearch.core.schema import Answer, Location
from fusesearch.localizers.lexical.compact import Plan, Step, grep, read

_HEAD = re.compile(r"^(?:## )?Candidates:?$", re.MULTILINE)


def listed_places(issue: str) -> list[Location]:
    """The places of the list below an issue; none without a list."""
    heads = [*_HEAD.finditer(issue)]
    lines = issue[heads[-1].end() :].splitlines() if heads else []
    return [place for line in lines if line.startswith("- ") and (place := parse_location(line[2:]))]


@dataclass
class Listed:
    """Looks up every place in one turn and answers with the first ones."""

    places: list[Location]
    plan: Plan

    def next_steps(self, turn: int, calls: int) -> list[Step]:
        """In the first turn (0), where the names of up to ``calls`` places are in their files; then it is time to answer."""
        return [] if turn else [self._look_up(place) for place in self.places[:calls]]

    def _look_up(self, place: Location) -> Step:
        name = (place.function or "").rpartition(".")[2]
        return grep(rf"\b{re.escape(name)}\b", place.path) if name.isidentifier() else read(place.path, 1)

    def answer(self) -> Answer:
        """As many places as the plan allows."""
        return Answer(modify=self.places[: self.plan.functions])
