"""Answerers of questions that search by BM25 and leave no choice of tools to the model: ``rag`` and ``ircot``.

They are baselines of RepoSearch-R1 (section 4.3) as its text describes them: ``rag`` retrieves once, ``ircot`` after each thought
(Trivedi et al., 2023). The paper's figures for IRCoT are those of its agent before training, here ``fusesearch`` with
``agent.toolset: repoqa``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import chain, zip_longest
from typing import Any, NamedTuple

from fusesearch.agents.answers import parse_values
from fusesearch.agents.parsing import visible
from fusesearch.agents.prompts import render
from fusesearch.agents.recording import Instructions
from fusesearch.code.functions import spans_of
from fusesearch.core.digests import digest
from fusesearch.core.schema import Instance, ToolCall, Turn
from fusesearch.core.text import printable
from fusesearch.localizers.bm25 import INDEXES, query_of, words_of
from fusesearch.localizers.direct import readable_source
from fusesearch.localizers.prompting import AskingLocalizer, Interview, ask_until
from fusesearch.search.repository import Repository
from fusesearch.search.results import Outcome

MOST = 15
"""Passages that a model sees at most (IRCoT, section 4)."""

LINES = 60
LINE_CHARS = 200
"""A passage of more lines shows those that share a word with the query first; longer lines are cut."""

_FILES, _FUNCTIONS = 10, 20


class Passage(NamedTuple):
    """A function, or a file without its functions: its heading and numbered lines, and each line as ``path:line``."""

    text: str
    lines: list[str]


class Retriever:
    """Runs the call ``retrieve(query)``: the ``most`` best passages that it has not returned before, ``MOST`` in all.

    The index is the one behind the localizer ``bm25``: the ranker's needs no extra, but ranks whole files by an issue's evidence.
    """

    def __init__(self, repository: Repository, most: int) -> None:
        self.found: dict[str, Passage] = {}
        self._repository, self._most = repository, most

    async def call(self, name: str, arguments: dict[str, Any]) -> Outcome:
        """Add to ``found``, by entity, and return what is new."""
        fresh = await asyncio.to_thread(self._find, arguments["query"])
        self.found |= fresh
        lines = [line for passage in fresh.values() for line in passage.lines]
        output = "\n\n".join(passage.text for passage in fresh.values()) or "nothing new"
        return Outcome(output, lines)

    def _find(self, query: str) -> dict[str, Passage]:
        files, functions = INDEXES.get(self._repository).best(query, _FILES, _FUNCTIONS)
        fresh: dict[str, Passage] = {}
        for entity in filter(None, chain.from_iterable(zip_longest(functions, files))):
            if len(fresh) >= min(self._most, MOST - len(self.found)):
                break
            if entity not in self.found and (passage := _passage(self._repository, entity, frozenset(query_of(query)))).lines:
                fresh[entity] = passage
        return fresh


def _passage(repository: Repository, entity: str, words: frozenset[str]) -> Passage:
    path, _, function = entity.partition("::")
    source = readable_source(repository, path) or ""
    text = source.split("\n")
    spans = spans_of(source, path)
    if function:
        numbers = [number for span in spans if span.name == function for number in range(span.start, span.end + 1)]
    else:
        inside = {number for span in spans for number in range(span.start, span.end + 1)}
        numbers = [number for number in range(1, len(text) + 1) if number not in inside]
    filled = [number for number in numbers if text[number - 1].strip()]
    kept = sorted(sorted(filled, key=lambda number: words.isdisjoint(words_of(text[number - 1])))[:LINES])
    return Passage("\n".join(_shown(entity, text, kept)), [f"{path}:{number}" for number in kept])


def _shown(entity: str, text: list[str], numbers: list[int]) -> Iterator[str]:
    yield f"/repo/{printable(entity)}"
    for number in numbers:
        yield f"{number}\t{text[number - 1][:LINE_CHARS]}"


STEPS = 8
STEP_PASSAGES = 4
"""Thoughts of ``ircot`` at most, and new passages after each (IRCoT, section 4)."""

_THOUGHT_CHARS = 600
_ATTEMPTS = 3  # a request is repeated only where nothing was written, mostly as it did not fit


class RagLocalizer(AskingLocalizer):
    """The ``MOST`` best passages for the question, and one request."""

    name = "rag"
    thoughts = 0
    passages = MOST

    def instructions(self, issue: str) -> Instructions:
        """The question, whose answer is read as values."""
        return Instructions("", issue, [], parse_values)

    async def work(self, interview: Interview, instance: Instance, repository: Repository) -> None:
        """The retrieval is a call ``retrieve``, in a turn of its own before the first request."""
        retriever = Retriever(repository, self.passages)
        first = Turn(text="")
        interview.trajectory.turns.append(first)
        await _retrieve(interview, first, retriever, interview.trajectory.issue)
        thoughts: list[str] = []
        while True:
            last = len(thoughts) >= min(self.thoughts, self.agent.max_turns - 1) or len(retriever.found) >= MOST
            text = await _ask(interview, retriever, thoughts, "answer" if last else "thought")
            answer = parse_values(text)
            if last or answer.text or not text:
                interview.answer(answer)
                return
            thoughts.append(" ".join(text.split())[:_THOUGHT_CHARS])
            await _retrieve(interview, interview.trajectory.turns[-1], retriever, thoughts[-1])


class IrcotLocalizer(RagLocalizer):
    """Thoughts and retrievals in turn: each thought is the next query, until one is an answer or the limits are reached."""

    name = "ircot"
    thoughts = STEPS
    passages = STEP_PASSAGES


async def _retrieve(interview: Interview, turn: Turn, retriever: Retriever, query: str) -> None:
    turn.calls = [ToolCall(id=f"call_{len(interview.trajectory.turns)}", name="retrieve", arguments={"query": query})]
    await interview.observe(turn, retriever)


async def _ask(interview: Interview, retriever: Retriever, thoughts: list[str], task: str) -> str:
    """What the model writes for ``task``, without its reasoning."""
    question = interview.trajectory.issue
    said = "\n".join(["\n# Thoughts so far\n", *(f"- {thought}" for thought in thoughts), ""]) if thoughts else ""
    answers = render("fusesearch.agents.prompts", "answers")

    def prompt(chars: int) -> str:
        passages = _fitting([row.text for row in retriever.found.values()], chars - len(question) - len(said))
        fence = f"=== {digest(passages)[:16]} ==="
        return render(
            __package__, "passages", question=question, passages=passages, fence=fence, thoughts=said,
            task=render(__package__, task, answers=answers),
        )  # fmt: skip

    return await ask_until(interview, prompt, lambda text: visible(text).strip(), _ATTEMPTS)


def _fitting(passages: list[str], chars: int) -> str:
    """The first passages that fit, at least the beginning of one."""
    kept = passages[:1]
    for passage in passages[1:]:
        if sum(map(len, kept)) + len(passage) > chars:
            break
        kept.append(passage)
    return "\n\n".join(kept)[: max(chars, 500)] or "(the search found nothing)"
