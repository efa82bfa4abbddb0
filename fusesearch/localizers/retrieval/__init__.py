"""Answerers of questions that search by BM25 and leave no choice of tools to the model: ``rag`` and ``ircot``.

They are baselines of RepoSearch-R1 (section 4.3) as its text describes them: ``rag`` retrieves once, ``ircot`` after each thought
(Trivedi et al., 2023). The paper's figures for IRCoT are those of its agent before training, here ``fusesearch`` with
``agent.toolset: repoqa``.
"""

from __future__ import annotations

from fusesearch.agents.answers import parse_values
from fusesearch.agents.interview import Interview
from fusesearch.agents.parsing import visible
from fusesearch.agents.prompts import render
from fusesearch.agents.recording import Instructions
from fusesearch.core.digests import digest
from fusesearch.core.schema import Instance, ToolCall, Turn
from fusesearch.localizers.prompting import AskingLocalizer, ask_until
from fusesearch.localizers.retrieval.passages import MOST, Retriever
from fusesearch.search.repository import Repository

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
