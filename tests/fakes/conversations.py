"""Conversations of three turns with a model, for comparing the tokens of one with those of another."""

import asyncio
from collections.abc import Sequence
from itertools import chain

import pytest

from fusesearch.agents.models.base import Completion, Message, Sampling
from fusesearch.agents.models.transformers import TransformersModel
from fusesearch.agents.models.vllm import VllmModel


def prompt(issue: str) -> list[Message]:
    """The first messages."""
    return [Message(role="system", content="Find code."), Message(role="user", content=issue)]


async def play(model: TransformersModel | VllmModel, issue: str, sampling: Sampling) -> list[Completion]:
    """What the model says in three turns, each followed by an observation."""
    messages, completions = prompt(issue), []
    for turn in range(3):
        completions.append(await model.complete(messages, [], sampling))
        messages.append(Message(role="assistant", content=completions[-1].text, tokens=completions[-1].tokens))
        messages.append(Message(role="tool", content=f"/repo/a.py:{turn}: {issue}", tool_call_id="1"))
    return completions


def assert_same(first: list[list[Completion]], second: list[list[Completion]], least: float) -> None:
    """The same turns token for token, with log-probabilities no further apart than ``least``."""
    for turn, same in zip(chain(*first), chain(*second), strict=True):
        assert turn.tokens
        assert same.tokens
        assert same.tokens.prompt_ids == turn.tokens.prompt_ids
        assert same.tokens.completion_ids == turn.tokens.completion_ids
        assert same.tokens.logprobs == pytest.approx(turn.tokens.logprobs, abs=least)
        assert (same.text, same.finish_reason) == (turn.text, turn.finish_reason)


async def all_played(model: TransformersModel | VllmModel, issues: Sequence[str], sampling: Sampling) -> list[list[Completion]]:
    """All conversations at once; the model is closed afterwards."""
    played = await asyncio.gather(*(play(model, issue, sampling) for issue in issues))
    await model.close()
    return list(played)
