"""The transformers model on a tiny random checkpoint: batches, kept keys and values, recorded tokens."""

import asyncio
import itertools
import threading

import pytest
import torch
from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

from fusesearch.agents.models import chat, transformers
from fusesearch.agents.models.base import Sampling
from fusesearch.agents.models.transformers import TransformersModel
from tests.fakes.conversations import all_played, prompt

ISSUES = ["prime fails", "a much longer issue about prime numbers and n + 1 in many words", "n", "return"]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_batch_and_cache_change_nothing(base, temperature, monkeypatch):
    sampling = Sampling(temperature=temperature, max_new_tokens=12, seed=5)
    before = set(threading.enumerate())
    together = asyncio.run(all_played(TransformersModel.load(base), ISSUES, sampling))
    monkeypatch.setattr(transformers, "CACHE_TOKENS", 0)
    alone = [asyncio.run(all_played(TransformersModel.load(base), [issue], sampling))[0] for issue in ISSUES]
    assert [[made.text for made in turns] for turns in together] == [[made.text for made in turns] for turns in alone]
    left = [thread for thread in set(threading.enumerate()) - before if "generate" in thread.name]
    for thread in left:
        thread.join(timeout=5)
    assert not any(thread.is_alive() for thread in left), "to close a model ends its thread"


def test_recorded_tokens_are_extended_by_the_next_request_and_have_the_models_log_probabilities(base):
    model = TransformersModel.load(base)
    played = asyncio.run(all_played(model, ISSUES[:2], Sampling(temperature=1.0, max_new_tokens=8, seed=3)))[1]
    tokens = [made.tokens for made in played if made.tokens]
    for earlier, later in itertools.pairwise(tokens):
        recorded = earlier.prompt_ids + earlier.completion_ids
        assert later.prompt_ids[: len(recorded)] == recorded
    last = tokens[-1]
    with torch.no_grad():
        logprobs = model.model(torch.tensor([last.prompt_ids + last.completion_ids])).logits[0].float().log_softmax(-1)
    start = len(last.prompt_ids)
    expected = [logprobs[start + i - 1, token].item() for i, token in enumerate(last.completion_ids)]
    assert last.logprobs == pytest.approx(expected, abs=1e-4)


def test_a_message_gets_what_is_left_of_the_context_and_one_without_room_ends_as_context(base):
    model = TransformersModel.load(base)
    long, short = prompt("n " * 40), prompt("n")
    length = len(chat.prompt_ids(model.tokenizer, long, []))
    model.model.config.max_position_embeddings = length + 2

    async def ask():
        made = await asyncio.gather(*(model.complete(row, [], Sampling(max_new_tokens=6)) for row in (long, short)))
        model.model.config.max_position_embeddings = length
        return [*made, await model.complete(long, [], Sampling(max_new_tokens=6))]

    made = asyncio.run(ask())
    assert [(row.finish_reason, row.usage.completion_tokens) for row in made] == [("length", 2), ("length", 6), ("context", 0)]


def test_every_id_of_the_generation_config_ends_a_message(base):
    model = TransformersModel.load(base)
    sampling = Sampling(max_new_tokens=6)
    free = asyncio.run(model.complete(prompt("n"), [], sampling))
    assert free.tokens
    third = free.tokens.completion_ids[2]
    first = free.tokens.completion_ids.index(third)
    model.model.generation_config.eos_token_id = [model.tokenizer.eos_token_id, third]
    ended = asyncio.run(TransformersModel(model.model, model.tokenizer).complete(prompt("n"), [], sampling))
    assert ended.tokens
    assert (ended.finish_reason, ended.tokens.completion_ids) == ("stop", free.tokens.completion_ids[: first + 1])
    assert ended.text == model.tokenizer.decode(free.tokens.completion_ids[:first])


def test_experts_that_were_trained_with_a_loss_of_their_router_sample(base):
    tokenizer = TransformersModel.load(base).tokenizer
    config = Qwen3MoeConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, moe_intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, head_dim=16, num_experts=4, num_experts_per_tok=2,
        output_router_logits=True, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    model = Qwen3MoeForCausalLM(config).eval()
    played = asyncio.run(all_played(TransformersModel(model, tokenizer), ISSUES, Sampling(max_new_tokens=6, seed=5)))
    assert all(made.tokens for turns in played for made in turns)
    assert model.config.output_router_logits
