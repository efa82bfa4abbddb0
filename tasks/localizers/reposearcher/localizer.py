"""RepoSearcher's episode: one call after another until Exit, then the ranked functions (ToolTrain, section 3.1)."""

from __future__ import annotations

from tasks.agents.conversation import assistant_message, observation_messages
from tasks.agents.interview import Interview, interviewed
from tasks.agents.loop import Instructions
from tasks.agents.models.base import Message
from tasks.agents.parsing import parse_answer
from tasks.agents.prompts import render_issue
from tasks.core.schema import Answer, Instance, Trajectory, Turn
from tasks.localizers.base import BaseLocalizer
from tasks.localizers.prompting import render, room
from tasks.localizers.reposearcher.tools import SearchTools, schemas
from tasks.search.repository import Repository

ANSWERS = 5
"""Functions the model is asked for, as in the published code."""
LAST_REQUESTS = 2
"""Of ``agent.max_turns``, those that are left for the answer."""
PATIENCE = 2
"""Messages without a call, one after another, after which the answer is asked for."""
_MIN_CHARS = 500


class RepoSearcherLocalizer(BaseLocalizer):
    """RepoSearcher around any model. ``agent.max_turns`` bounds its requests, ``tools.output_chars`` one result.

    As in the published code one call is run per message, a message without a call is answered by a reminder, and the
    answer is asked for on its own, after Exit or when calls or context have run out.
    """

    name = "reposearcher"
    mode = "sequential"

    async def localize(self, instance: Instance, repository: Repository, seed: int | None = None) -> Trajectory:
        """One episode."""
        system = render(__package__, "system", calls=max(self.agent.max_turns - LAST_REQUESTS, 0))
        instructions = Instructions(system, render_issue(self.agent, instance.problem_statement), schemas())
        chars = self.tools.output_chars
        tools = SearchTools(repository, chars)
        return await interviewed(self, instance, instructions, seed, lambda interview: _Search(interview, tools, chars).run())


class _Search:
    """The requests of one episode."""

    def __init__(self, interview: Interview, tools: SearchTools, output_chars: int) -> None:
        self.interview = interview
        self.tools = tools
        self.output_chars = output_chars
        self.turns = interview.trajectory.turns
        self.room = room(interview.agent)
        self.silent = 0
        self.asked = False

    async def run(self) -> None:
        """Ask until there is an answer or no request is left."""
        limit = self.interview.agent.max_turns
        while len(self.turns) < limit:
            before = self._conversation()
            left = self.room - sum(_chars(message) for message in before)
            self.tools.over |= limit - len(self.turns) <= LAST_REQUESTS or self.silent >= PATIENCE or left < 2 * _MIN_CHARS
            self.tools.chars = max(_MIN_CHARS, min(self.output_chars, left // 2))
            turn = await self.interview.ask(self._prompt(), before, schemas())
            if turn.calls:
                await self.interview.observe(turn, self.tools)
            elif found := parse_answer(turn.text).modify:
                self.interview.answer(Answer(modify=found))
                return
            self._note(turn)
        self.interview.answer(Answer())
        if self.turns and self.turns[-1].calls:
            self.interview.trajectory.stop = "max_turns"

    def _prompt(self) -> str:
        """What is said before the next request: nothing after a result, the reminder, or what the answer has to be."""
        if self.tools.over:
            said, self.asked = self.asked, True
            return "" if said and self.turns[-1].calls else render(__package__, "answer", most=ANSWERS)
        return render(__package__, "reminder") if self.silent else ""

    def _note(self, turn: Turn) -> None:
        """A message without a call counts; one without anything may not have fitted the model's context."""
        self.silent = 0 if turn.calls else self.silent + 1
        if not turn.calls and not turn.text:
            self.room //= 2

    def _conversation(self) -> list[Message]:
        """The issue and what followed, the oldest turns left out where it would be too long."""
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
