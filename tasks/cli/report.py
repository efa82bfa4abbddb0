"""The answer of ``fusesearch localize`` as people and as programs read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tasks.core.errors import InfrastructureError
from tasks.core.schema import Answer, Location, Trajectory
from tasks.core.text import printable
from tasks.localizers.searcher import with_lines
from tasks.reporting.episodes.explain import Explanation, Target, explain
from tasks.search.repository import Repository


def raise_on_failure(trajectory: Trajectory) -> None:
    """Raise :class:`InfrastructureError` when the world failed and the episode therefore has no answer."""
    if trajectory.error is not None:
        raise InfrastructureError(trajectory.error)


@dataclass(frozen=True)
class Report:
    """Locations with line spans where they are known, and what the search cost.

    ``explanations`` says of every location, those to modify first, which calls showed it; None when nobody asked.
    """

    modify: list[Location]
    related: list[Location]
    cost: dict[str, Any]
    explanations: Sequence[Explanation] | None = None

    @classmethod
    def of(cls, trajectory: Trajectory, repository: Repository, *, explained: bool = False) -> Report:
        """Report of a finished episode over ``repository``."""
        answer = trajectory.answer or Answer()
        answer = with_lines(answer, repository)
        modify, related = answer.modify, answer.related
        explanations = explain(trajectory, map(Target.of, [*modify, *related])) if explained else None
        return cls(modify, related, cost(trajectory), explanations)

    def as_json(self) -> dict[str, Any]:
        """``modify`` and ``related`` (path, function, lines), ``trajectory`` (cost), and ``explain`` when asked for."""
        report: dict[str, Any] = {
            "modify": [location.model_dump(mode="json") for location in self.modify],
            "related": [location.model_dump(mode="json") for location in self.related],
            "trajectory": self.cost,
        }
        if self.explanations is not None:
            rows = [explanation.as_json() for explanation in self.explanations]
            report["explain"] = {"modify": rows[: len(self.modify)], "related": rows[len(self.modify) :]}
        return report

    def as_text(self) -> str:
        """Ranked locations, related context apart, one line of cost."""
        why = self.explanations or []
        parts = [_no_answer(self.cost)]
        if self.modify:
            parts = ["Locations to modify", *_rows(self.modify, why[: len(self.modify)], ranked=True)]
        if self.related:
            parts += ["", "Related context", *_rows(self.related, why[len(self.modify) :], ranked=False)]
        return "\n".join([*parts, "", _summary(self.cost)])


def cost(trajectory: Trajectory) -> dict[str, Any]:
    """What an episode cost, under the names of :class:`tasks.core.schema.Score`, and who searched."""
    from tasks.evaluation.metrics import tool_statistics

    about = {name: getattr(trajectory, name) for name in ("localizer", "model", "mode", "stop")}
    return about | tool_statistics(trajectory)


def _rows(locations: Sequence[Location], why: Sequence[Explanation], *, ranked: bool) -> list[str]:
    """A line per location; below it the explanation, where there is one."""
    places = [printable(f"{location.path}{_span(location)}") for location in locations]
    width = max(map(len, places), default=0)
    lines: list[str] = []
    for index, (place, location) in enumerate(zip(places, locations, strict=True)):
        rank = f"{index + 1}." if ranked else ""
        lines.append(f"{rank:>4} {place:<{width}}  {printable(location.function or '')}".rstrip())
        lines += [f"       {printable(line)}" for line in (why[index].as_text() if why else [])]
    return lines


def _span(location: Location) -> str:
    return f":{location.lines[0]}-{location.lines[1]}" if location.lines else ""


def _summary(cost: dict[str, Any]) -> str:
    turns, calls = (f"{cost[key]} {key[: -1 if cost[key] == 1 else None]}" for key in ("turns", "calls"))
    model = f" ({cost['model']})" if cost["model"] else ""
    return f"{turns}, {calls}, e {cost['efficiency']:.2f}, {cost['seconds']:.1f} s, {cost['tokens_billed']:,} tokens{model}"


def _no_answer(cost: dict[str, Any]) -> str:
    reasons = {
        "max_turns": "the turns ran out",
        "max_context": "the conversation got too long",
        "no_answer": "the last message names no location",
    }
    return f"No answer: {reasons.get(cost['stop'], cost['stop'])}."
