"""The answer of ``fusesearch localize`` as people and as programs read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tasks.cli.output import printable
from tasks.core.errors import FusesearchError, InfrastructureError
from tasks.core.schema import Answer, Location, Trajectory
from tasks.search.repository import Repository


def raise_on_failure(trajectory: Trajectory) -> None:
    """Raise :class:`InfrastructureError` when the world failed and the episode therefore has no answer."""
    if trajectory.error is not None:
        raise InfrastructureError(trajectory.error)


@dataclass(frozen=True)
class Report:
    """Locations with line spans where they are known, and what the search cost."""

    modify: list[Location]
    related: list[Location]
    cost: dict[str, Any]

    @classmethod
    def of(cls, trajectory: Trajectory, repository: Repository) -> Report:
        """Report of a finished episode over ``repository``."""
        answer = trajectory.answer or Answer()
        spans = Spans(repository)
        return cls(spans.fill(answer.modify), spans.fill(answer.related), cost(trajectory))

    def as_json(self) -> dict[str, Any]:
        """``modify`` and ``related`` (path, function, lines) and ``trajectory`` (cost)."""
        return {
            "modify": [location.model_dump(mode="json") for location in self.modify],
            "related": [location.model_dump(mode="json") for location in self.related],
            "trajectory": self.cost,
        }

    def as_text(self) -> str:
        """Ranked locations, related context apart, one line of cost."""
        parts = ["Locations to modify", *_rows(self.modify, ranked=True)] if self.modify else [_no_answer(self.cost)]
        if self.related:
            parts += ["", "Related context", *_rows(self.related, ranked=False)]
        return "\n".join([*parts, "", _summary(self.cost)])


class Spans:
    """Line spans of functions, from the files as they are on disk."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._known: dict[str, dict[str, tuple[int, int]]] = {}

    def fill(self, locations: Sequence[Location]) -> list[Location]:
        """The same locations; a function that is found gets its lines."""
        return [location.model_copy(update={"lines": location.lines or self._lines(location)}) for location in locations]

    def _lines(self, location: Location) -> tuple[int, int] | None:
        if location.function is None:
            return None
        if location.path not in self._known:
            self._known[location.path] = self._read(location.path)
        return self._known[location.path].get(location.function)

    def _read(self, path: str) -> dict[str, tuple[int, int]]:
        from tasks.localizers.structure import function_spans

        try:
            spans = function_spans(self._repository.read_text(path), path)
        except FusesearchError:  # the model named a file that is not there
            return {}
        return {span.name: (span.start, span.end) for span in spans}


def cost(trajectory: Trajectory) -> dict[str, Any]:
    """What an episode cost, under the names of :class:`tasks.core.schema.Score`, and who searched."""
    from tasks.evaluation.metrics import tool_statistics

    about = {name: getattr(trajectory, name) for name in ("localizer", "model", "mode", "stop")}
    return about | tool_statistics(trajectory)


def _rows(locations: Sequence[Location], *, ranked: bool) -> list[str]:
    places = [printable(f"{location.path}{_span(location)}") for location in locations]
    width = max(map(len, places), default=0)
    return [
        f"{f'{rank}.' if ranked else '':>4} {place:<{width}}  {printable(location.function or '')}".rstrip()
        for rank, (place, location) in enumerate(zip(places, locations, strict=True), 1)
    ]


def _span(location: Location) -> str:
    return f":{location.lines[0]}-{location.lines[1]}" if location.lines else ""


def _summary(cost: dict[str, Any]) -> str:
    return (
        f"{cost['turns']} turns, {cost['calls']} calls, e {cost['efficiency']:.2f}, {cost['seconds']:.1f} s, "
        f"{cost['tokens_billed']:,} tokens ({cost['model']})"
    )


def _no_answer(cost: dict[str, Any]) -> str:
    reasons = {
        "max_turns": "the turns ran out",
        "max_context": "the conversation got too long",
        "no_answer": "the last message names no location",
    }
    return f"No answer: {reasons.get(cost['stop'], cost['stop'])}."
