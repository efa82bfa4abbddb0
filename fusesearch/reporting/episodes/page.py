"""The content of an episode's page: figures, answer and truth, and every turn with its calls."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal

from fusesearch.agents.parsing import parse_turn
from fusesearch.core.schema import Answer, Location, Observation, Score, ToolCall, Trajectory, Truth, Turn
from fusesearch.core.schema import Place as Ranked
from fusesearch.evaluation.answers import score_answer
from fusesearch.evaluation.costs import tool_statistics
from fusesearch.evaluation.metrics import score_trajectory
from fusesearch.reporting.episodes.observed import Hits, Line, Mark, Sources, rows

STOPS = {
    "answer": "it answered",
    "no_answer": "the last message names no location",
    "length": "the last message reached its limit of tokens before it named a location",
    "filter": "a filter of the endpoint cut the last message before it named a location",
    "max_turns": "the turns ran out",
    "max_context": "the conversation got too long",
    "error": "the infrastructure failed",
}
ISSUE_LINES = 14
_SAID = re.compile("`([^`]+)`|“([^”]+)”|common with the issue: (.+)|^line ([0-9]+) ")
"""What a reason quotes of a file: names, messages, words, the number of a line."""

Source = Callable[[str], str | None]
"""The text of a file, or None."""


@dataclass(frozen=True)
class Tile:
    """A figure in the header, with its name and a note on its parts."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Place:
    """An answered location. ``verdict``: ``right``, ``file`` (another function of a right file), ``wrong``, "" if unknown.

    ``reasons`` and ``confidence`` are the localizer's own, where it can tell; ``rank`` is empty for a function of the file above.
    ``code`` has a function's lines; those with what a reason quotes are marked.
    """

    entity: str
    lines: str
    verdict: str
    rank: str = ""
    confidence: str = ""
    reasons: Sequence[str] = ()
    code: Sequence[Item] = ()


@dataclass(frozen=True)
class Item:
    """One line of an observation: the heading of a file, a line of it, a listed file, or a note of the tool."""

    kind: Literal["heading", "line", "path", "note"]
    text: str
    number: int | None = None
    mark: Mark = ""


@dataclass(frozen=True)
class Card:
    """One call. ``level`` is its gain in tenths, 0 to 10, or ``bad`` if the call failed or has no gain.

    ``new`` is truth that no earlier call showed.
    """

    anchor: str
    name: str
    tool: str
    arguments: Sequence[tuple[str, str]]
    level: str
    gain: str
    note: str
    hits: Sequence[str]
    new: Sequence[str]
    items: Sequence[Item]


@dataclass(frozen=True)
class Wanted:
    """A file or function of the truth: the call that first showed it, and its rank in the answer, if any."""

    entity: str
    first: Card | None
    rank: int | None


@dataclass(frozen=True)
class TurnPart:
    """One assistant message, with the cards of its calls."""

    number: int
    thinking: str
    text: str
    cards: Sequence[Card]
    facts: Sequence[str]
    notice: str


@dataclass(frozen=True)
class Page:
    """The content of the page. ``searched``: calls were made or a model was asked."""

    title: str
    about: Sequence[str]
    tiles: Sequence[Tile]
    issue: tuple[str, str]
    system: str
    stop: str
    error: str | None
    modify: Sequence[Place]
    related: Sequence[Place]
    truth: Sequence[Wanted] | None
    turns: Sequence[TurnPart]
    searched: bool


def page_of(trajectory: Trajectory, truth: Truth | None = None, source: Source = lambda path: None) -> Page:
    """The page of an episode; an answer without a search has its code by ``source``.

    Raises :class:`DataError` if the truth names no file.
    """
    score = score_answer if truth and truth.expected else score_trajectory
    hits = Hits(truth, Sources(trajectory))
    answer = trajectory.answer or Answer()
    known: set[str] = set()
    turns = [_turn(number, turn, hits, known) for number, turn in enumerate(trajectory.turns, 1)]
    issue = trajectory.issue.strip()
    lines = issue.split("\n")  # few more than shown are not worth folding
    return Page(
        title=trajectory.instance_id,
        about=_about(trajectory),
        tiles=_tiles(trajectory, score(trajectory, truth) if truth else None),
        issue=(issue, "") if len(lines) <= ISSUE_LINES + 2 else ("\n".join(lines[:ISSUE_LINES]), "\n".join(lines[ISSUE_LINES:])),
        system=trajectory.system,
        stop=STOPS[trajectory.stop],
        error=trajectory.error,
        modify=_files(answer.places, truth, source)
        or [_place(row, truth, f"{rank}.") for rank, row in enumerate(answer.modify, 1)],
        related=[_place(row, None) for row in answer.related],
        truth=_wanted(truth, answer, turns) if truth else None,
        turns=turns,
        searched=_searched(trajectory),
    )


def _searched(trajectory: Trajectory) -> bool:
    return any(turn.calls or turn.usage.prompt_tokens for turn in trajectory.turns) or not trajectory.answer


def _about(trajectory: Trajectory) -> list[str]:
    where = f"{trajectory.repo}@{trajectory.base_commit[:12]}" if trajectory.base_commit else trajectory.repo
    who = ", ".join(dict.fromkeys(name for name in (trajectory.localizer, trajectory.model) if name))
    guided = f"asked for {trajectory.guidance} calls per turn" if trajectory.guidance else ""
    where = "" if where == trajectory.instance_id else where
    how = f"{trajectory.mode} calls" if _searched(trajectory) else ""
    return [part for part in (where, who, how, guided) if part]


def _tiles(trajectory: Trajectory, score: Score | None) -> list[Tile]:
    cost = tool_statistics(trajectory)
    by_turn, by_call = cost["efficiency"], cost["efficiency_call"]
    sure = trajectory.answer.confidence if trajectory.answer else None
    known = [_quality(score)] if score else []
    known += [] if sure is None else [Tile("Confidence", f"{sure:.0%}", "that the first file is right")]
    if not _searched(trajectory):
        return [*known, Tile("Time", f"{cost['seconds']:.1f} s", "no model was asked")]
    return [
        *known,
        Tile("Tool efficiency e", _number(by_turn, ".2f"), f"{_number(by_call, '.2f')} counting calls of the same turn"),
        Tile("Turns", f"{cost['turns']}", STOPS[trajectory.stop]),
        Tile("Calls", f"{cost['calls']}", f"{cost['calls_per_turn']:.1f} per searching turn, {cost['failed_calls']} failed"),
        Tile("Tokens", f"{cost['tokens_billed']:,}", f"{cost['tokens_context']:,} in the last request"),
        Tile("Time", f"{cost['seconds']:.1f} s", f"model {cost['seconds_model']:.1f} s, tools {cost['seconds_tools']:.1f} s"),
    ]


def _quality(score: Score) -> Tile:
    if score.answer_score is not None:
        given = f"{', '.join(score.predicted_values) or 'nothing'}; right: {', '.join(score.true_values)}"
        return Tile("Answer", f"{score.answer_score:.2f}", given)
    if score.f1 is None or score.file_f1 is None:
        return Tile("F1", "none", "a failure of the infrastructure has no score")
    function = "no function in the truth" if score.function_f1 is None else f"function {score.function_f1:.2f}"
    return Tile("F1", f"{score.f1:.2f}", f"file {score.file_f1:.2f}, {function}")


def _files(places: Sequence[Ranked], truth: Truth | None, source: Source) -> list[Place]:
    """The files of a ranking, each followed by its functions."""
    found = []
    for rank, place in enumerate(places, 1):
        file = Location(path=place.path, confidence=place.confidence, reasons=place.reasons)
        found += [_place(file, truth, f"{rank}."), *(_place(one, truth, code=_code(one, source)) for one in place.functions)]
    return found


def _code(one: Location, source: Source) -> list[Item]:
    first, last = one.lines or (1, 0)
    said = [match for reason in one.reasons for match in _SAID.finditer(reason)]
    words = [word for match in said for word in [*match.groups()[:2], *(match[3] or "").split(", ")] if word]
    pattern = re.compile("|".join(map(re.escape, words)) or "$^", re.IGNORECASE)
    numbers = {int(match[4]) for match in said if match[4]}
    lines = enumerate((source(one.path) or "").split("\n")[first - 1 : last], first)
    return [Item("line", text, at, "said" if at in numbers or pattern.search(text) else "") for at, text in lines]


def _place(location: Location, truth: Truth | None, rank: str = "", code: Sequence[Item] = ()) -> Place:
    if truth is None:
        verdict = ""
    elif location.entity in truth.files or location.entity in truth.functions:
        verdict = "right"
    else:
        verdict = "file" if location.path in truth.files else "wrong"
    lines = f"lines {location.lines[0]}-{location.lines[1]}" if location.lines else ""
    confidence = "" if location.confidence is None else f"{location.confidence:.0%}"
    return Place(location.entity, lines, verdict, rank, confidence, location.reasons, code)


def _wanted(truth: Truth, answer: Answer, turns: Sequence[TurnPart]) -> list[Wanted]:
    first = {entity: card for turn in turns for card in turn.cards for entity in card.new}
    names = [(location.path, location.entity) for location in answer.modify]
    return [
        Wanted(entity, first.get(entity), next((rank for rank, known in enumerate(names, 1) if entity in known), None))
        for entity in [*truth.files, *truth.functions]
    ]


def _turn(number: int, turn: Turn, hits: Hits, known: set[str]) -> TurnPart:
    """The part of a turn. Adds the truth that it shows to ``known``."""
    thinking, ended, rest = turn.text.partition("</think>")
    observations = [*turn.observations, *[None] * len(turn.calls)]
    cards = []
    for index, (call, observation) in enumerate(zip(turn.calls, observations, strict=False), 1):
        card = _card(number, index, call, observation, hits, known)
        known.update(card.hits)
        cards.append(card)
    return TurnPart(
        number=number,
        thinking=thinking.replace("<think>", "").strip() if ended else "",
        text=parse_turn(rest if ended else turn.text)[0],
        cards=cards,
        facts=_facts(turn),
        notice=turn.notice,
    )


def _facts(turn: Turn) -> list[str]:
    tokens = f"{turn.usage.prompt_tokens:,} + {turn.usage.completion_tokens:,} tokens"
    model = f"model {_seconds(turn.usage.seconds)}"
    if not turn.calls:
        return [tokens, model]
    gains = [observation.gain_turn for observation in turn.observations]
    mean = [f"mean gain {_number(sum(gains) / len(gains), '.0%')}"] if gains else []
    calls = f"{len(turn.calls)} call{'s at once' if len(turn.calls) > 1 else ''}"
    return [calls, *mean, f"tools {_seconds(turn.seconds_tools)}", model, tokens]


def _card(turn: int, index: int, call: ToolCall, seen: Observation | None, hits: Hits, known: set[str]) -> Card:
    found = hits.entities_in(seen) if seen else []
    return Card(
        anchor=f"t{turn}c{index}",
        name=f"{turn}.{index}",
        tool=call.name or "unreadable call",
        arguments=[
            (name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
            for name, value in call.arguments.items()
        ],
        level=_level(seen),
        gain=_gain(seen),
        note=_note(call, seen),
        hits=found,
        new=[entity for entity in found if entity not in known],
        items=_items((row, hits.mark(row)) for row in rows(seen)) if seen and seen.output else [],
    )


def _items(marked: Iterable[tuple[Line, Mark]]) -> list[Item]:
    """The rows of an observation, with a heading where another file starts."""
    found: list[Item] = []
    current: str | None = None
    for row, mark in marked:
        if row.path is None:
            current = current if row.text == "--" else None
            found.append(Item("note", row.text))
        elif row.line is None:
            current = None
            found.append(Item("path", f"{row.path}{f'  ({row.text})' if row.text else ''}", mark=mark))
        else:
            if row.path != current:
                found.append(Item("heading", row.path))
            current = row.path
            found.append(Item("line", row.text, row.line, mark))
    return found


def _level(seen: Observation | None) -> str:
    if seen is None or seen.error is not None or not isfinite(seen.gain_turn):
        return "bad"
    return str(max(round(10 * min(seen.gain_turn, 1.0)), int(seen.gain_turn > 0)))


def _gain(seen: Observation | None) -> str:
    if seen is None:
        return "not run"
    return "failed" if seen.error is not None else _number(seen.gain_turn, ".0%")


def _note(call: ToolCall, seen: Observation | None) -> str:
    if seen is None:
        return call.error or "the episode ended before it was answered"
    if seen.error is not None:
        return _seconds(seen.seconds)
    found = f"{len(seen.entities)} found" if seen.entities else "nothing found"
    differs = isfinite(seen.gain_call) and seen.gain_call != seen.gain_turn
    within = f", {seen.gain_call:.0%} counting this turn" if differs else ""
    return f"{found}{within}, {_seconds(seen.seconds)}"


def _number(value: float, form: str) -> str:
    return format(value, form) if isfinite(value) else "absent"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"
