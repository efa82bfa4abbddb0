"""The model that takes and gives token ids, against servers that speak vLLM's token protocol."""

import asyncio
from collections import Counter
from itertools import chain

import pytest

from fusesearch.agents.models import chat
from fusesearch.agents.models.base import Sampling
from fusesearch.agents.models.transformers import TransformersModel
from fusesearch.agents.models.vllm import VllmModel
from fusesearch.core.errors import ModelUnavailable
from tests.fakes.conversations import all_played, assert_same, play, prompt
from tests.fakes.local_server import LocalServer, by
from tests.fakes.token_server import Engine, handler_of

ISSUES = ["prime fails", "a much longer issue about prime numbers and n + 1 in many words", "n", "return"]


@pytest.fixture(scope="module")
def local(base):
    return TransformersModel.load(base, max_batch=8)


@pytest.fixture
def engines(local):
    return [Engine(local.model.name_or_path, "policy") for _ in range(2)]


def served(local, *servers, **options):
    addresses = [server.removesuffix("/v1") for server in servers]
    options = {"name": "policy", "retries": 3, "backoff_seconds": 0.01} | options
    return VllmModel(local.tokenizer, addresses, 4096, **options)


def test_greedy_conversations_are_token_for_token_those_of_transformers(local, engines):
    sampling = Sampling(temperature=0.0, max_new_tokens=12)
    expected = asyncio.run(all_played(local, ISSUES, sampling))
    with LocalServer(handler_of(engines[0])) as server:
        found = asyncio.run(all_played(served(local, server.url), ISSUES, sampling))
    assert_same(expected, found, 1e-4)
    used = [[turn.usage.model_copy(update={"seconds": 0}) for turn in chain(*turns)] for turns in (expected, found)]
    assert used[0] == used[1]


def test_a_seed_decides_every_turn_and_no_two_turns_draw_alike(local, engines):
    with LocalServer(handler_of(engines[0])) as server:
        sampled = (Sampling(temperature=1.0, seed=seed, max_new_tokens=8) for seed in (1, 1, 2))
        played = [asyncio.run(play(served(local, server.url), "n", sampling)) for sampling in sampled]
    seeds = [asked["seed"] for path, asked in engines[0].requests]
    assert [c.text for c in played[0]] == [c.text for c in played[1]] != [c.text for c in played[2]]
    assert seeds[:3] == seeds[3:6]
    assert len(set(seeds)) == 6


def test_an_episode_stays_on_its_server_and_episodes_are_spread(local, engines):
    with LocalServer(handler_of(engines[0])) as one, LocalServer(handler_of(engines[1])) as other:
        asyncio.run(all_played(served(local, one.url, other.url), ISSUES, Sampling(temperature=1.0, seed=3, max_new_tokens=8)))
    for engine in engines:
        assert len(engine.requests) == 6
        prompts = [tuple(asked["prompt"]) for _, asked in engine.requests]
        starts = {start for start in prompts if not any(start != p and start[: len(p)] == p for p in prompts)}
        assert len(starts) == 2  # two episodes, with all their turns


def test_an_episode_goes_on_at_another_server_when_its_own_is_gone(local, engines):
    with LocalServer(handler_of(engines[0])) as server:
        model = served(local, "http://127.0.0.1:9/v1", server.url)
        assert all(completion.tokens for completion in asyncio.run(play(model, "n", Sampling(max_new_tokens=8))))


def test_an_episode_keeps_the_cache_of_the_weights_it_began_with(local, engines):
    version = iter(range(100))

    async def two(model):
        for issue in ISSUES[:2]:
            await asyncio.create_task(play(model, issue, Sampling(max_new_tokens=4)))

    with LocalServer(handler_of(engines[0])) as server:
        model = served(local, server.url, salt=lambda: f"{next(version)}-x")
        asyncio.run(two(model))
    salts = Counter(asked["cache_salt"] for _, asked in engines[0].requests)
    assert list(salts.values()) == [3, 3]


def test_a_message_gets_what_is_left_of_the_context_and_one_without_room_ends_as_context(local, engines):
    asked = prompt("n")
    length = len(chat.prompt_ids(local.tokenizer, asked, []))
    made = []
    with LocalServer(handler_of(engines[0])) as server:
        for room in (3, 0):
            model = served(local, server.url)
            model.max_context = length + room
            made.append(asyncio.run(model.complete(asked, [], Sampling(max_new_tokens=4096))))
    assert [(row.finish_reason, row.usage.completion_tokens) for row in made] == [("length", 3), ("context", 0)]
    assert [sent["max_tokens"] for _, sent in engines[0].requests] == [3]


def test_another_model_at_the_address_is_one_clear_line(local, engines):
    with LocalServer(handler_of(engines[0])) as server, pytest.raises(ModelUnavailable, match="`other` does not exist"):
        asyncio.run(served(local, server.url, name="other").complete(prompt("n"), [], Sampling()))


CHOICE = {"index": 0, "text": "", "finish_reason": "stop", "token_ids": [5], "logprobs": {"token_logprobs": [-1.0]}}


def test_a_reply_without_whole_tokens_is_asked_for_again(local):
    faults = (
        {"token_ids": None}, {"token_ids": [5, 6]}, {"token_ids": [], "logprobs": {"token_logprobs": []}}, {"logprobs": None},
        {"logprobs": {"token_logprobs": [None]}}, {"finish_reason": "abort"},
    )  # fmt: skip
    replies = [*(CHOICE | fault for fault in faults), CHOICE]

    def reply(*_):
        return 200, {"id": "x", "object": "text_completion", "model": "policy", "choices": [replies.pop(0)]}

    with LocalServer(by(reply)) as server:
        completion = asyncio.run(served(local, server.url, retries=len(faults)).complete(prompt("n"), [], Sampling()))
    assert completion.tokens
    assert completion.tokens.completion_ids == [5]
    assert replies == []
