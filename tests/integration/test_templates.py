"""Conversations in tokens, turn by turn as rollouts record them and as a whole as training sees them, by other templates."""

from pathlib import Path

import pytest

from fusesearch.agents.models.base import Message
from fusesearch.agents.parsing import format_calls
from fusesearch.core.errors import DataError
from tests.fakes.replayed import replayed

ROOT = Path(__file__).parents[2]
CALLS = format_calls([("grep", {"pattern": "def a"}), ("glob", {"pattern": "*.py"})])
MESSAGES = [
    Message(role="system", content="Find code."),
    Message(role="user", content="a() fails"),
    Message(role="assistant", content=CALLS),
    Message(role="tool", content="/repo/a.py:1:def a(", tool_call_id="1"),
    Message(role="tool", content="/repo/a.py", tool_call_id="2"),
    Message(role="assistant", content="## Locations to Modify\n- /repo/a.py::a"),
]


@pytest.fixture(scope="module")
def tokenizer():
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(ROOT / "experiments/nano/base")


def test_a_conversation_has_the_same_tokens_turn_by_turn_and_as_a_whole(tokenizer):
    assert replayed(tokenizer, MESSAGES, []) > 20


def test_a_template_that_rewrites_earlier_messages_is_refused(tokenizer, monkeypatch):
    forgetful = tokenizer.chat_template.replace(
        "message.content + '<|im_end|>'", "(message.content if loop.last else '') + '<|im_end|>'"
    )
    monkeypatch.setattr(tokenizer, "chat_template", forgetful)
    with pytest.raises(DataError, match="prefix-preserving"):
        replayed(tokenizer, MESSAGES, [])


def test_a_template_that_drops_earlier_thinking_changes_no_tokens(tokenizer, monkeypatch):
    said = [
        row.model_copy(update={"content": f"<think>so</think>{row.content}"}) if row.role == "assistant" else row
        for row in MESSAGES
    ]
    kept = replayed(tokenizer, said, [])
    shorter = tokenizer.chat_template.replace(
        "message.content + '<|im_end|>'", "message.content.split('</think>')[-1] + '<|im_end|>'"
    )
    assert shorter != tokenizer.chat_template
    monkeypatch.setattr(tokenizer, "chat_template", shorter)
    assert replayed(tokenizer, said, []) == kept > replayed(tokenizer, MESSAGES, [])
