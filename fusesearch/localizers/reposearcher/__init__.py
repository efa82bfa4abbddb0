"""RepoSearcher: six tools that look up definitions by file and name, then ranked functions (ToolTrain, section 3.1)."""

from __future__ import annotations

from fusesearch.agents.conversation import assistant_message, observation_messages
from fusesearch.agents.models.base import Message
from fusesearch.agents.parsing import parse_answer
from fusesearch.agents.prompts import render
from fusesearch.agents.recording import Instructions
from fusesearch.core.schema import Answer, Instance
from fusesearch.localizers.prompting import AskingLocalizer, Interview, room
from fusesearch.localizers.reposearcher.tools import ANSWERS, EXIT, LAST_TURNS, SearchTools, schemas
from fusesearch.search.repository import Repository

PATIENCE = 2
"""Consecutive messages without a call before the answer is asked for."""
_MIN_CHARS = 500


class RepoSearcherLocalizer(AskingLocalizer):
    """RepoSearcher around any model. ``agent.max_turns`` limits its requests, ``tools.output_chars`` one result.

    As in the published code, each message runs one call, a message without a call gets a reminder, and a separate request asks
    for the answer, after Exit or when calls or context run out.
    """

    name = "reposearcher"
    mode = "sequential"

    def instructions(self, issue: str) -> Instructions:
        """The system prompt and the six tools."""
        system = render(__package__, "system", calls=max(self.agent.max_turns - LAST_TURNS, 0))
        return Instructions(system, issue, schemas())

    async def work(self, interview: Interview, instance: Instance, repository: Repository) -> None:
        """Calls, then the request for the answer."""
        await _Requests(interview, SearchTools(repository, self.tools)).run()


class _Requests:
    """The requests of one episode."""

    def __init__(self, interview: Interview, tools: SearchTools) -> None:
        self.interview = interview
        self.tools = tools
        self.output_chars = tools.chars
        self.turns = interview.trajectory.turns
        self.room = room(interview.agent)
        self.silent = 0
        self.asked = False

    async def run(self) -> None:
        """Ask until there is an answer or requests run out."""
        limit = self.interview.agent.max_turns
        while len(self.turns) < limit:
            before = self._conversation()
            remaining = self.room - sum(_chars(message) for message in before)
            self.tools.over |= limit - len(self.turns) <= LAST_TURNS or self.silent >= PATIENCE or remaining < 2 * _MIN_CHARS
            self.tools.chars = max(_MIN_CHARS, min(self.output_chars, remaining // 2))
            turn = await self.interview.ask(self._prompt(), before, schemas())
            if turn.calls:
                await self.interview.observe(turn, self.tools)
                self.tools.over |= turn.calls[0].name == EXIT and not turn.observations[0].error
            elif found := parse_answer(turn.text).modify:
                self.interview.answer(Answer(modify=found))
                return
            self.silent = 0 if turn.calls else self.silent + 1
            if not turn.calls and not turn.text:
                self.room //= 2  # an empty reply: the request may not have fitted the model's context
        self.interview.answer(Answer())
        if self.turns and self.turns[-1].calls:
            self.interview.trajectory.stop = "max_turns"

    def _prompt(self) -> str:
        """Text before the next request: nothing after a result, the reminder, or the request for the answer."""
        if self.tools.over:
            asked_before, self.asked = self.asked, True
            return "" if asked_before and self.turns[-1].calls else render(__package__, "answer", most=ANSWERS)
        return render(__package__, "reminder") if self.silent else ""

    def _conversation(self) -> list[Message]:
        """The issue and the turns so far, without the oldest ones if they do not fit."""
        issue = Message(role="user", content=self.interview.trajectory.issue)
        left = self.room - len(issue.content) - 2 * _MIN_CHARS
        kept: list[list[Message]] = []
        for turn in reversed(self.turns):
            if not turn.text and not turn.calls:
                continue
            asked = [Message(role="user", content=turn.prompt)] if turn.prompt else []
            messages = [*asked, assistant_message(turn), *observation_messages(turn)]
            left -= sum(_chars(message) for message in messages)
            if left < 0:
                break
            kept.append(messages)
        return [issue, *(message for messages in reversed(kept) for message in messages)]


def _chars(message: Message) -> int:
    return len(message.content) + sum(len(str(call.arguments)) + len(call.name) for call in message.tool_calls)
