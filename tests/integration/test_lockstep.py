"""Batches of a local model are those of the episodes, whatever time their tools take."""

import asyncio
from contextlib import aclosing
from functools import partial
from random import Random

import pytest

from fusesearch.agents.loop import run_episodes
from fusesearch.agents.models.base import Message, Sampling
from fusesearch.agents.models.transformers import TransformersModel

ISSUES = ["prime fails", "a much longer issue about prime numbers in many words", "n", "n", "return", "one more", "last"]


class Watched(TransformersModel):
    """Notes the prompts of each batch."""

    batches: list[list[tuple[int, ...]]]

    def _generate(self, batch):
        self.batches.append([tuple(request.prompt) for request in batch])
        return super()._generate(batch)


def watched(checkpoint, kind=Watched, **options):
    model = kind.load(checkpoint, **options)
    assert isinstance(model, kind)
    model.batches = []
    return model


async def episode(model, number, wait):
    """Two to four turns, each followed by a tool that takes some time; the second turn asks twice at once, as a tree does."""
    messages = [Message(role="user", content=ISSUES[number])]
    sampling = Sampling(temperature=1.0, max_new_tokens=6, seed=number)
    made = []
    await asyncio.sleep(wait.random() / 30)
    for turn in range(2 + number % 3):
        seeds = (number, number + 100) if turn == 1 else (number,)
        asked = (model.complete(messages, [], sampling.model_copy(update={"seed": seed})) for seed in seeds)
        made += await asyncio.gather(*asked)
        await asyncio.sleep(wait.random() / 30)
        messages.append(Message(role="assistant", content=made[-1].text, tokens=made[-1].tokens))
        messages.append(Message(role="tool", content=f"observation {turn}", tool_call_id="1"))
    return made


async def played(model, pace, concurrency):
    """All episodes, by number; ``pace`` draws the seconds of tools."""
    wait = Random(pace)

    async def one(number):
        return number, await episode(model, number, wait)

    rows = [row async for row in run_episodes([partial(one, number) for number in range(len(ISSUES))], concurrency)]
    await model.close()
    return sorted(rows, key=lambda row: row[0])


@pytest.mark.parametrize(("concurrency", "most"), [(3, 4), (3, 64), (len(ISSUES), 4), (len(ISSUES), 64)])
def test_tools_that_take_longer_change_no_batch_and_no_bit(base, concurrency, most):
    runs = []
    for pace in range(3):
        model = watched(base, max_batch=most)
        tokens = [[c.tokens for c in made] for _, made in asyncio.run(played(model, pace, concurrency))]
        runs.append((model.batches, tokens))
    assert runs[1:] == runs[:1] * 2
    assert max(len(batch) for batch in runs[0][0]) >= min(concurrency, most)


def test_a_model_answers_after_its_episodes_were_stopped_and_those_that_an_episode_runs_count_as_its_own(base):
    model = TransformersModel.load(base)

    async def asks():
        made = await model.complete([Message(role="user", content="n")], [], Sampling(max_new_tokens=2))
        return made.usage.completion_tokens

    async def stopped():
        async with aclosing(run_episodes([asks, partial(asyncio.sleep, 60, 0), partial(asyncio.sleep, 0.05, 0)], 3)) as rows:
            async for _ in rows:
                break
        return await asyncio.wait_for(asks(), 20)

    assert asyncio.run(stopped()) == 2

    async def outer():
        return [await asks(), *[row async for row in run_episodes([asks, asks], 2)]]

    async def both():
        return [row async for row in run_episodes([outer, outer], 2)]

    assert asyncio.run(asyncio.wait_for(both(), 60)) == [[2, 2, 2]] * 2
