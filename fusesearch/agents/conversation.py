"""A trajectory as a chat: the loop sends it and SFT trains on it, and both build it here."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

from fusesearch.agents.answers import parse_values
from fusesearch.agents.models.base import Message
from fusesearch.agents.parsing import OPEN, format_calls, parse_answer, parse_turn
from fusesearch.core.schema import Answer, Trajectory, Turn


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
    native, readable = OPEN not in turn.text, [not call.error for call in turn.calls]
    if not turn.calls or (not native and all(readable)):
        return turn
    calls = list(compress(turn.calls, readable))
    if not calls:
        return None
    prose = turn.text.partition(OPEN)[0].strip()
    text = f"{prose}\n{format_calls((call.name, call.arguments) for call in calls)}".lstrip()
    observations = list(compress(turn.observations, readable))
    return turn.model_copy(update={"text": text, "calls": calls, "observations": observations, "tokens": None})


def reads_back(trajectory: Trajectory) -> bool:
    """Whether each message of an episode in text (:func:`as_text`) reads as exactly its calls, and the last as its answer."""
    for turn in trajectory.turns:
        read_calls = parse_turn(turn.text)[1]
        if [(call.name, call.arguments, call.error) for call in read_calls] != [
            (call.name, call.arguments, None) for call in turn.calls
        ]:
            return False
    answer = trajectory.answer
    if answer is None:
        return True
    read = parse_values if answer.text else parse_answer
    return bool(trajectory.turns) and _contents(read(trajectory.turns[-1].text)) == _contents(answer)


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
