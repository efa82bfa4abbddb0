"""A trajectory as a chat: the loop sends it and SFT trains on it, and both build it here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress
from typing import Any

from fusesearch.agents.answers import parse_values
from fusesearch.agents.forms import read_calls
from fusesearch.agents.models.base import Message
from fusesearch.agents.parsing import OPEN, format_calls, parse_answer, parse_turn
from fusesearch.core.schema import Answer, ToolCall, Trajectory, Turn


def messages_of(trajectory: Trajectory, system: str | None = None) -> list[Message]:
    """The chat of a trajectory, exactly as the model saw and wrote it.

    ``system`` replaces the system prompt, for example to drop a teacher's guidance. Observations of a last turn that
    reached a limit are left out, because no request contained them.
    """
    messages = conversation(trajectory.system if system is None else system, trajectory.issue, trajectory.turns)
    if trajectory.stop in ("max_turns", "max_context") and trajectory.turns:
        del messages[len(messages) - len(trajectory.turns[-1].observations) :]
    return messages


def conversation(system: str, issue: str, turns: Sequence[Turn]) -> list[Message]:
    """The opening messages and all turns with their observations."""
    messages = [Message(role="system", content=system), Message(role="user", content=issue)]
    for turn in turns:
        if turn.prompt:
            messages.append(Message(role="user", content=turn.prompt))
        messages += [assistant_message(turn), *observation_messages(turn)]
    return messages


def assistant_message(turn: Turn) -> Message:
    """The message that the model wrote, with ``tool_calls`` unless its text already contains them."""
    native = [] if OPEN in turn.text else turn.calls
    return Message(role="assistant", content=turn.text, tool_calls=native, tokens=turn.tokens, extra=turn.extra)


def as_text(trajectory: Trajectory) -> Trajectory:
    """The episode as a student has to write it: each call in the text of its message, and none that could not be read.

    Calls that a server parsed become Hermes blocks after the prose. An unreadable call leaves with its observation, and a
    message that had no other call leaves whole. What was written as text, and readable, stays as it is.
    """
    turns = [turn for turn in map(_turn_as_text, trajectory.turns) if turn is not None]
    return trajectory.model_copy(update={"turns": turns})


def _turn_as_text(turn: Turn) -> Turn | None:
    readable = [not call.error for call in turn.calls]
    if not turn.calls or (all(readable) and _written(parse_turn(turn.text)[1]) == _written(turn.calls)):
        return turn
    calls = list(compress(turn.calls, readable))
    if not calls:
        return None
    prose = read_calls(turn.text, _tools(calls))[0].partition(OPEN)[0].strip()
    text = f"{prose}\n{format_calls((call.name, call.arguments) for call in calls)}".lstrip()
    observations = list(compress(turn.observations, readable))
    return turn.model_copy(update={"text": text, "calls": calls, "observations": observations, "tokens": None})


def reads_back(trajectory: Trajectory) -> bool:
    """Whether each message of an episode in text (:func:`as_text`) reads as exactly its calls, and the last as its answer."""
    tools = _tools(call for turn in trajectory.turns for call in turn.calls)
    for turn in trajectory.turns:
        if _written(read_calls(turn.text, tools, answered=not turn.calls)[1]) != _written(turn.calls):
            return False
    answer = trajectory.answer
    if answer is None:
        return True
    read = parse_values if answer.text else parse_answer
    return bool(trajectory.turns) and _contents(read(trajectory.turns[-1].text)) == _contents(answer)


def _written(calls: Iterable[ToolCall]) -> list[tuple[str, dict[str, Any], str | None]]:
    return [(call.name, call.arguments, call.error) for call in calls]


def _tools(calls: Iterable[ToolCall]) -> list[dict[str, Any]]:
    """Schemas of the tools that were called, as far as calls tell."""
    return [{"function": {"name": name}} for name in sorted({call.name for call in calls if not call.error})]


def _contents(answer: Answer) -> tuple[list[tuple[str, str | None]], list[tuple[str, str | None]], list[str], str]:
    """What an answer says; confidence and reasons are not written in messages."""
    modify, related = ([(row.path, row.function) for row in rows] for rows in (answer.modify, answer.related))
    return modify, related, answer.values, answer.text


def observation_messages(turn: Turn) -> list[Message]:
    """One tool message per call, in order; the last one ends with the notice."""
    messages = [
        Message(role="tool", content=observation.output, tool_call_id=observation.call_id) for observation in turn.observations
    ]
    if messages and turn.notice:
        messages[-1].content += f"\n{turn.notice}"
    return messages
