"""A conversation in tokens turn by turn, as rollouts record it, against the same as a whole, as training sees it."""

from collections.abc import Sequence
from typing import Any

from fusesearch.agents.models.base import Message
from fusesearch.agents.models.chat import encode, prompt_ids, training_ids
from fusesearch.agents.parsing import format_calls
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Tokens

FORMS = {
    "thinking": "<think>\nperhaps\n</think>\n\n",
    "empty thinking": "<think>\n\n</think>\n\n",
    "thinking on one line": "<think>perhaps</think>",
}
"""Openings of messages that a model may write, by what they are called."""
CALLS = format_calls([("grep", {"pattern": "def área"}), ("read_file", {"path": "/repo/a.py", "end_line": 3})])
MESSAGES = [
    Message(role="system", content="Find code."),
    Message(role="user", content="area() is wrong"),
    Message(role="assistant", content=f"Two at once.\n{CALLS}"),
    Message(role="tool", content="/repo/a.py:1:def área():", tool_call_id="1"),
    Message(role="tool", content="1\tdef área():\n2\t    return 1", tool_call_id="2"),
    Message(role="assistant", content=format_calls([("glob", {"pattern": "**/*.py"})])),
    Message(role="tool", content="/repo/a.py", tool_call_id="3"),
    Message(role="assistant", content="## Locations to Modify\n- /repo/a.py::área"),
]


def thinking(opening: str) -> list[Message]:
    """``MESSAGES`` in which the assistant's begin with ``opening``."""
    return [row.model_copy(update={"content": opening + row.content}) if row.role == "assistant" else row for row in MESSAGES]


def replayed(tokenizer: Any, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> int:
    """Tokens of a conversation whose messages are recorded one by one, as in rollouts.

    Raises :class:`DataError` if the template rewrites an earlier message, or if training would see other tokens.
    """
    recorded: list[Message] = []
    seen: list[int] = []
    for message in messages:
        if message.role == "assistant":
            prompt = prompt_ids(tokenizer, recorded, tools)
            sampled = [*encode(tokenizer, message.content), tokenizer.eos_token_id]
            tokens = Tokens(prompt_ids=prompt, completion_ids=sampled, logprobs=[0.0] * len(sampled))
            recorded.append(message.model_copy(update={"tokens": tokens}))
            seen = prompt + sampled
        else:
            recorded.append(message)
    if training_ids(tokenizer, messages, tools)[0] != seen:
        raise DataError("the tokenizer gives other tokens for a whole conversation than turn by turn")
    return len(seen)
