"""A trajectory as a chat: the loop sends it and SFT trains on it, and both build it here."""

from __future__ import annotations

from collections.abc import Sequence

from fusesearch.agents.models.base import Message
from fusesearch.agents.parsing import OPEN
from fusesearch.core.schema import Trajectory, Turn


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
    return Message(role="assistant", content=turn.text, tool_calls=native, tokens=turn.tokens)


def observation_messages(turn: Turn) -> list[Message]:
    """One tool message per call, in order; the last one ends with the notice."""
    messages = [
        Message(role="tool", content=observation.output, tool_call_id=observation.call_id) for observation in turn.observations
    ]
    if messages and turn.notice:
        messages[-1].content += f"\n{turn.notice}"
    return messages


def tokens_context(trajectory: Trajectory) -> int:
    """Length of the final conversation in tokens: prompt and completion of the last request."""
    last = trajectory.turns[-1].usage if trajectory.turns else None
    return last.prompt_tokens + last.completion_tokens if last else 0


def tokens_billed(trajectory: Trajectory) -> int:
    """Tokens over all requests, prompt and completion."""
    return sum(turn.usage.prompt_tokens + turn.usage.completion_tokens for turn in trajectory.turns)
