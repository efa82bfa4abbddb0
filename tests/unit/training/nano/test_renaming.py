"""Renaming keeps an episode consistent and its format intact."""

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.agents.answers import format_values, parse_values
from fusesearch.agents.models.base import Message, Sampling
from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.agents.parsing import format_calls, parse_turn
from fusesearch.evaluation.environments import environment_named
from fusesearch.training.nano.renaming import KEPT, WORD, Exchange, Names, RenamedModel, kept_words, renamed

POOL = Names(["alpha", "beta", "degree", "delta", "epsilon", "gamma", "matrix"], ["Graph", "a", "ing", "orp", "x"])


def texts(messages, seed=0):
    return [message.content for message in renamed(messages, random.Random(seed), POOL)]


def test_a_name_is_the_same_in_issue_call_and_observation():
    call = format_calls([("grep", {"pattern": "def structures\\b", "output_mode": "content"})])
    issue, spoken, seen = texts(
        [
            Message(role="user", content="structures(4) fails"),
            Message(role="assistant", content=call),
            Message(role="tool", content="/repo/core/dag.py:3:def structures(n):"),
        ]
    )
    name = issue.split("(")[0]
    assert name != "structures"
    assert parse_turn(spoken)[1][0].arguments == {"pattern": f"def {name}\\b", "output_mode": "content"}
    assert seen.endswith(f":3:def {name}(n):")
    assert seen.startswith("/repo/")


@given(st.text(max_size=200), st.integers(0, 5))
def test_only_words_change(text, seed):
    [new] = texts([Message(role="user", content=text)], seed)
    assert WORD.sub("", new) == WORD.sub("", text)
    assert [word for word in WORD.findall(new) if word in KEPT] == [word for word in WORD.findall(text) if word in KEPT]


PARTS = ["ab", "Error", "error", "def", "fooBar", "foobar", "FOO", "alpha", "\\b", "\\", "_", " ", "."]


@given(st.lists(st.lists(st.sampled_from(PARTS)).map("".join)))
def test_the_way_back_leads_to_the_same_text(texts):
    exchange = Exchange(random.Random(0), POOL)
    shown = [exchange.text(text) for text in texts]
    assert [exchange.back(text) for text in shown] == texts


@pytest.mark.parametrize("environment", ["questions", "both"])
def test_a_renamed_question_has_an_answer(environment):
    exchange = Exchange(random.Random(0), Names(POOL.words, POOL.pieces, kept_words(environment_named(environment))))
    assert "Room" not in exchange.text("Where is Room defined?")
    assert parse_values(exchange.text(format_values(["/repo/rooms.py::Room"]))).values == [exchange.text("/repo/rooms.py::Room")]


def test_the_model_alone_sees_the_new_names():
    seen = []

    def script(messages):
        seen.append(messages)
        return f"look at {messages[-1].content}"

    model = RenamedModel(ScriptedModel(script), Exchange(random.Random(1), POOL))
    message = Message(role="user", content="Structures.degree_of")
    completion = asyncio.run(model.complete([message], [], Sampling()))
    assert completion.text == "look at Structures.degree_of"
    assert "tructures" not in seen[0][-1].content
