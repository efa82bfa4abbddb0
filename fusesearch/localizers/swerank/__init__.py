"""SweRank: a bi-encoder retrieves functions, a listwise model reranks them (Reddy et al., ICLR 2026, arXiv 2505.07849).

The prompt asks as SweRank's does (RankGPT's form), in other words. Texts of candidates, windows and limits are its public code's.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from fusesearch.agents.models.base import CHARS_PER_TOKEN
from fusesearch.agents.parsing import visible
from fusesearch.agents.prompts import render
from fusesearch.agents.recording import Instructions
from fusesearch.code.functions import spans_of
from fusesearch.code.kinds import is_code
from fusesearch.code.spans import is_python
from fusesearch.core.errors import ArtifactError, InfrastructureError, one_line
from fusesearch.core.schema import Answer, Instance
from fusesearch.core.stopping import checked, in_thread
from fusesearch.core.text import encodable
from fusesearch.localizers.base import BaseLocalizer
from fusesearch.localizers.direct import DirectLocalizer, as_answer, readable_source
from fusesearch.localizers.prompting import AskingLocalizer, Interview, room
from fusesearch.search.repository import Repository

FILES, FUNCTIONS = 10, 15  # as deep as SweRank's tables look
TOP, WINDOW, STEP, FUNCTION_TOKENS = 100, 10, 5, 1024
"""Functions that the encoder retrieves, those that the model orders at once, places to the next window, most tokens of one."""
Candidate = tuple[str, str]  # path::Name, and its text
_LOCK = threading.Lock()


@lru_cache(maxsize=1)
def encoder_named(name: str) -> Any:
    """The sentence-transformers encoder in a folder, else of that name on the hub. Raises :class:`ArtifactError`."""
    from sentence_transformers import SentenceTransformer

    try:  # safetensors run no code of their own
        return SentenceTransformer(str(Path(name).expanduser()), model_kwargs={"use_safetensors": True})
    except Exception as error:  # the libraries raise many types for a missing and a damaged one
        raise ArtifactError(f"{name} is missing, or is no encoder that can be loaded: {one_line(error)}") from error


def candidates_of(repository: Repository) -> Iterator[Candidate]:
    """The functions of the code files, tests excluded, in path order. A text begins with path and name, as in SweRank's data."""
    for path in checked(filter(is_code, repository.files())):
        lines = (source := readable_source(repository, path) or "").split("\n")
        for span in spans_of(source, path):
            code = "\n".join(lines[span.start - 1 : span.end])
            owner = f"class {span.name.split('.')[-2]}:" if is_python(path) and "." in span.name else ""
            yield f"{path}::{span.name}", f"{path}/{span.name.replace('.', '/') if owner else span.name}\n{owner}{code}"


class SweRankEmbedLocalizer(DirectLocalizer):
    """The encoder's order alone, as the rows "retriever" of SweRank's tables."""

    name = "swerank-embed"

    def find(self, instance: Instance, repository: Repository, seed: int | None) -> Answer:
        """The nearest functions."""
        return answer_of(retrieve(self, instance.problem_statement, repository))


class SweRankLocalizer(AskingLocalizer):
    """The model orders what the encoder retrieved, in windows from the end of the list to its top."""

    name = "swerank"
    mode = "sequential"

    def instructions(self, issue: str) -> Instructions:
        """The system prompt of the windows."""
        return Instructions(render(__package__, "system"), issue, [])

    async def work(self, interview: Interview, instance: Instance, repository: Repository) -> None:
        """A turn per window. One that does not fit the model's context, or whose reply names no candidate, keeps its order."""
        found = await in_thread(retrieve, self, instance.problem_statement, repository)
        issue, chars = interview.trajectory.issue, room(self.agent)
        for end in range(len(found), WINDOW - STEP, -STEP) or range(len(found), 0, -STEP):  # the last one starts at the top
            place = slice(max(end - WINDOW, 0), end)
            window, issue = found[place], issue[: chars // 4]
            each = min(CHARS_PER_TOKEN * FUNCTION_TOKENS, (chars - 2 * len(issue)) // len(window))  # the issue stands there twice
            texts = (re.sub(r"\[(\d+)\]", r"(\1)", text[:each]) for _, text in window)
            functions = "".join(f"[{number}] {text}\n" for number, text in enumerate(texts, 1))
            turn = await interview.ask(render(__package__, "window", count=len(window), issue=issue, functions=functions))
            found[place] = [window[number] for number in read_order(visible(turn.text), len(window))]
        interview.answer(answer_of(found))


def retrieve(localizer: BaseLocalizer, issue: str, repository: Repository) -> list[Candidate]:
    """The :data:`TOP` functions nearest to the issue by the cosine of their vectors, nearest first; none for an empty issue.

    Raises as :func:`encoder_named`, and :class:`InfrastructureError` without enough memory.
    """
    encoder = encoder_named(localizer.agent.options["encoder"])
    if not (found := list(candidates_of(repository)) if issue.strip() else []):
        return []
    with _LOCK:  # episodes of one snapshot, which run at once, embed it once
        vectors = embedded(encoder, tuple(text for _, text in found))
        cosines = vectors @ embedded(encoder, (encoder.prompts.get("query", "") + issue,))[0]
    distinct: dict[str, str] = {}
    for number in (-cosines).argsort(kind="stable"):
        distinct.setdefault(*found[number])  # of a name that is defined twice, the nearest
    return list(distinct.items())[:TOP]


@lru_cache(maxsize=8)
def embedded(encoder: Any, texts: tuple[str, ...]) -> Any:
    """Vectors of length 1: float32 (texts, dimensions). Kept in memory, so that a snapshot is embedded once."""
    try:
        return encoder.encode([encodable(text) for text in texts], normalize_embeddings=True, show_progress_bar=False)
    except (MemoryError, RuntimeError) as error:
        raise InfrastructureError(f"the encoder failed: {one_line(error)}") from error


def answer_of(found: Sequence[Candidate]) -> Answer:
    """The first :data:`FUNCTIONS` functions, and the first :data:`FILES` files in the order of their first functions."""
    names = [name for name, _ in found]
    return as_answer(list(dict.fromkeys(name.partition("::")[0] for name in names))[:FILES], names[:FUNCTIONS])


def read_order(reply: str, count: int) -> list[int]:
    """``count`` candidates from 0, as the first chain such as ``[3] > [1]`` or else all numbers order them, then the others."""
    chain = re.search(r"\[[0-9]+\](?:\s*>\s*\[[0-9]+\])+", reply)
    said = (int(number) - 1 for number in re.findall(r"[0-9]+", chain[0] if chain else reply) if len(number) <= 4)
    return list(dict.fromkeys([*(number for number in said if 0 <= number < count), *range(count)]))
