"""Prompts of the systems that ask step by step: the ``.md`` files beside each system, and the room in a request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from string import Template
from typing import TypeVar

from fusesearch.agents.interview import Interview
from fusesearch.agents.models.base import CHARS_PER_TOKEN
from fusesearch.core.config import Agent

T = TypeVar("T")

MIN_ROOM = 1000
_FRAME_TOKENS = 600
"""Tokens reserved for the prompts' own text."""


def render(package: str, name: str, **values: object) -> str:
    """The prompt ``name.md`` of ``package`` with ``$name`` filled in."""
    return _template(package, name).substitute(values)


def room(agent: Agent) -> int:
    """Characters of material that fit into one request, at four characters per token, with room for the reply."""
    return max(CHARS_PER_TOKEN * (agent.max_context_tokens - agent.max_new_tokens - _FRAME_TOKENS), MIN_ROOM)


async def ask_until(interview: Interview, prompt: Callable[[int], str], read: Callable[[str], T], attempts: int) -> T:
    """Ask up to ``attempts`` times, until ``read`` finds something in the reply. Retries use temperature 1.

    ``prompt`` gets the number of characters it may use, which is halved when a request did not fit the model's context. Each
    prompt is a conversation of its own, without a system prompt. Both functions run in threads. Returns what ``read`` made of
    the last reply.
    """
    sampling, chars = interview.sampling, room(interview.agent)
    try:
        for attempt in range(attempts):
            turn = await interview.ask(await asyncio.to_thread(prompt, chars), system="")
            found = await asyncio.to_thread(read, turn.text)
            if found:
                return found
            chars = chars if turn.text else max(chars // 2, MIN_ROOM)
            seed = None if sampling.seed is None else sampling.seed + attempt + 1
            interview.sampling = sampling.model_copy(update={"temperature": 1.0, "seed": seed})
        return found
    finally:
        interview.sampling = sampling


@cache
def _template(package: str, name: str) -> Template:
    return Template(files(package).joinpath(f"{name}.md").read_text(encoding="utf-8").strip())
