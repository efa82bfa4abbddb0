"""SweRank: a bi-encoder retrieves functions, a listwise model reranks them (Reddy et al., ICLR 2026, arXiv 2505.07849).

The prompt asks what SweRank's asks (RankGPT's form), in other words. What a candidate's text is, the windows and the limits are
those of its public code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import Field

from fusesearch.agents.models.base import CHARS_PER_TOKEN
from fusesearch.agents.parsing import visible
from fusesearch.agents.prompts import render
from fusesearch.agents.recording import Instructions, OnEvent
from fusesearch.code.functions import spans_of
from fusesearch.code.kinds import is_code
from fusesearch.code.spans import is_python
from fusesearch.core.config import Agent, Section
from fusesearch.core.schema import Answer, Instance
from fusesearch.core.stopping import checked, in_thread
from fusesearch.localizers.base import BaseLocalizer
from fusesearch.localizers.direct import DirectLocalizer, as_answer, readable_source
from fusesearch.localizers.prompting import MIN_ROOM, AskingLocalizer, Interview, room
from fusesearch.localizers.swerank.encoder import encoder_named
from fusesearch.localizers.swerank.vectors import read_order, vectors_of, windows
from fusesearch.search.repository import Repository

FILES, FUNCTIONS = 10, 15
"""As deep as SweRank's tables look."""
MAX_FILE_BYTES = 1_000_000
UNREADABLE = "unreadable"
"""In ``extra`` of a turn whose reply named no candidate, so that its window stayed as it was."""
_IDENTIFIER = re.compile(r"\[(\d+)\]")


class Settings(Section):
    """Settings of SweRank. Defaults are those of its published runs."""

    top: int = Field(100, ge=1, description="functions that the encoder retrieves and the model reranks")
    window: int = Field(10, ge=2, description="functions that the model orders at once")
    step: int = Field(5, ge=1, description="places from one window to the next")
    function_tokens: int = Field(1024, ge=1, description="most tokens of a function that the model sees")
    least_tokens: int = Field(300, ge=1, description="tokens of each function before which the issue is cut")


class Candidate(NamedTuple):
    """A function as ``path::Name`` and the text that stands for it."""

    entity: str
    text: str


def candidates_of(repository: Repository) -> Iterator[Candidate]:
    """The functions of the code files, tests excluded, in path order. A text begins with path and name, as in SweRank's data."""
    for path in checked(filter(is_code, repository.files())):
        source = readable_source(repository, path, MAX_FILE_BYTES)
        lines = source.split("\n") if source is not None else []
        for span in spans_of(source or "", path):
            owner = span.name.split(".")[-2] if is_python(path) and "." in span.name else ""
            head = f"{path}/{span.name.replace('.', '/') if owner else span.name}\n" + (f"class {owner}:" if owner else "")
            yield Candidate(f"{path}::{span.name}", head + "\n".join(lines[span.start - 1 : span.end]))


def retrieve(
    issue: str, repository: Repository, agent: Agent, cache: Path, top: int, on_event: OnEvent | None = None
) -> list[Candidate]:
    """The ``top`` functions nearest to the issue by the cosine of their vectors, nearest first; none for an empty issue.

    ``cache`` is the folder of vectors. Raises as :func:`encoder_named` and :meth:`Encoder.embed`.
    """
    encoder = encoder_named(agent.options["encoder"])
    found = list(candidates_of(repository)) if issue.strip() else []
    if not found:
        return []

    def embedding(done: int, total: int) -> None:
        if on_event is not None:
            on_event("index", {"done": done, "total": total})

    vectors = vectors_of([one.text for one in found], encoder, cache, embedding)
    prefix = agent.options.get("query_prefix", encoder.prefix)
    cosines = vectors @ encoder.embed([prefix + issue])[0]
    distinct: dict[str, Candidate] = {}
    for number in np.argsort(-cosines, kind="stable"):
        distinct.setdefault(found[number].entity, found[number])  # of a name that is defined twice, the nearest
    return list(distinct.values())[:top]


class _Retrieving(BaseLocalizer):
    settings = Settings()

    def retrieve(self, issue: str, repository: Repository) -> list[Candidate]:
        """As :func:`retrieve`."""
        return retrieve(issue, repository, self.agent, self.caches.vectors, self.settings.top, self.on_event)


class SweRankEmbedLocalizer(_Retrieving, DirectLocalizer):
    """The encoder's order alone, as the rows "retriever" of SweRank's tables."""

    name = "swerank-embed"

    def find(self, instance: Instance, repository: Repository, seed: int | None) -> Answer:
        """The nearest functions."""
        return answer_of(self.retrieve(instance.problem_statement, repository))


class SweRankLocalizer(_Retrieving, AskingLocalizer):
    """The model orders what the encoder retrieved, in windows from the end of the list to its top."""

    name = "swerank"
    mode = "sequential"

    def instructions(self, issue: str) -> Instructions:
        """The system prompt of the windows."""
        return Instructions(render(__package__, "system"), issue, [])

    async def work(self, interview: Interview, instance: Instance, repository: Repository) -> None:
        """A turn per window: 19 for 100 functions. A window that does not fit the model's context is asked for again with half as
        many characters."""
        found = await in_thread(self.retrieve, instance.problem_statement, repository)
        for start, end in windows(len(found), self.settings.window, self.settings.step):
            order = await self._order(interview, found[start:end])
            found[start:end] = [found[start + place] for place in order]
        interview.answer(answer_of(found))

    async def _order(self, interview: Interview, window: Sequence[Candidate]) -> Sequence[int]:
        """The places of the candidates in the model's order; their own if its reply cannot be read."""
        for chars in (room(self.agent), room(self.agent) // 2):
            turn = await interview.ask(self._prompt(interview.trajectory.issue, window, chars))
            if turn.text:
                break
        order = read_order(visible(turn.text), len(window))
        if not order:
            turn.extra[UNREADABLE] = True
        return order or range(len(window))

    def _prompt(self, issue: str, window: Sequence[Candidate], chars: int) -> str:
        """The request, which has the issue twice. Functions are cut first, and the issue where they would have too little."""
        least = CHARS_PER_TOKEN * self.settings.least_tokens * len(window)
        issue = issue[: max(chars - least, MIN_ROOM) // 2]
        each = min(CHARS_PER_TOKEN * self.settings.function_tokens, (chars - 2 * len(issue)) // len(window))
        texts = (_IDENTIFIER.sub(r"(\1)", one.text[:each]) for one in window)
        functions = "".join(f"[{number}] {text}\n" for number, text in enumerate(texts, 1))
        return render(__package__, "window", count=len(window), issue=issue, functions=functions)


def answer_of(found: Sequence[Candidate]) -> Answer:
    """The first :data:`FUNCTIONS` functions, and the first :data:`FILES` files in the order of their first functions."""
    files = dict.fromkeys(one.entity.partition("::")[0] for one in found)
    return as_answer(list(files)[:FILES], [one.entity for one in found[:FUNCTIONS]])
