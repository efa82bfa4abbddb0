"""Chat templates of others' models: whether they show tools, and what they rewrite."""

from pathlib import Path

import pytest

from fusesearch.agents.models.base import Message
from fusesearch.agents.models.chat import prompt_ids
from fusesearch.core.errors import ArtifactError, DataError
from fusesearch.training.nano import student
from tests.fakes.replayed import MESSAGES, replayed, thinking

TOOLS = [
    {"type": "function", "function": {"name": "grep", "description": "", "parameters": {"type": "object", "properties": {}}}}
]
TURN = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{% endfor %}"
SHOWN = "{% if tools %}{{ tools | tojson }}{% endif %}" + TURN


@pytest.fixture
def tokenizer():
    made = student.train_tokenizer(["def f(): return 1"] * 9, 300)
    made.name_or_path = "some/model"
    return made


def test_a_template_that_leaves_the_tools_out_is_refused(tokenizer):
    tokenizer.chat_template = TURN
    asked = [Message(role="system", content="s"), Message(role="user", content="u")]
    assert prompt_ids(tokenizer, asked, [])
    with pytest.raises(ArtifactError, match=r"some/model shows no tools.*agent\.prompt"):
        prompt_ids(tokenizer, asked, TOOLS)
    tokenizer.chat_template = SHOWN
    assert prompt_ids(tokenizer, asked, TOOLS)


ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def nano():
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(ROOT / "experiments/nano/base")


def test_a_template_that_rewrites_earlier_messages_is_refused(nano, monkeypatch):
    forgetful = nano.chat_template.replace(
        "message.content + '<|im_end|>'", "(message.content if loop.last else '') + '<|im_end|>'"
    )
    monkeypatch.setattr(nano, "chat_template", forgetful)
    with pytest.raises(DataError, match="prefix-preserving"):
        replayed(nano, MESSAGES, [])


def test_a_template_that_drops_earlier_thinking_changes_no_tokens(nano, monkeypatch):
    said = thinking("<think>so</think>")
    kept = replayed(nano, said, [])
    shorter = nano.chat_template.replace("message.content + '<|im_end|>'", "message.content.split('</think>')[-1] + '<|im_end|>'")
    assert shorter != nano.chat_template
    monkeypatch.setattr(nano, "chat_template", shorter)
    assert replayed(nano, said, []) == kept > replayed(nano, MESSAGES, [])
