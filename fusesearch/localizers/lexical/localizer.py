"""The lexical localizer looks up what an issue's traceback or example calls and answers with what fits best: no model, no truth.

It is the default teacher of synthesis. An issue without a traceback, an example in Python or the name of a function has no
answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from fusesearch.agents.models.base import Message
from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.agents.parsing import format_answer, format_calls, parse_turn
from fusesearch.localizers.base import Setup
from fusesearch.localizers.fusesearch import FuseSearchLocalizer
from fusesearch.localizers.lexical.compact import CALLS, Compact, Plan, plan_for
from fusesearch.localizers.lexical.evidence import Call, Evidence
from fusesearch.localizers.lexical.listed import Listed, divided

MAX_CALLS = 8
"""Most calls in a turn if ``agent.max_calls_per_turn`` allows them; sequential mode has one."""


class LexicalLocalizer(FuseSearchLocalizer):
    """The scripted model in the same loop as every other."""

    name = "lexical"

    def __init__(self, setup: Setup) -> None:
        calls = 1 if setup.agent.mode == "sequential" else min(MAX_CALLS, setup.agent.max_calls_per_turn)
        super().__init__(replace(setup, model=LexicalModel(calls, plan_for(setup.agent))))


class LexicalModel(ScriptedModel):
    """A policy as a model: each message is a function of the messages before it.

    It searches for what the issue names, reads it, follows what it calls, and answers with what fits best. A turn makes up to
    ``calls_per_turn`` (1 to 8) calls.
    """

    def __init__(self, calls_per_turn: int, plan: Plan | None = None) -> None:
        super().__init__(self.next_text, "lexical")
        self.calls_per_turn = calls_per_turn
        self.plan = plan or Plan()

    def next_text(self, messages: list[Message]) -> str:
        """The next assistant message as text."""
        issue = next((message.content for message in messages if message.role == "user"), "")
        turn = sum(message.role == "assistant" for message in messages)
        evidence = Evidence.of(calls_of(messages))
        text, places = divided(issue)
        policy = Listed(text, places, evidence, self.plan) if places else Compact(issue, evidence, self.plan)
        last = turn >= self.plan.turns - 1 or len(evidence.calls) >= CALLS
        steps = [] if last else policy.next_steps(turn, self.calls_per_turn)
        return format_calls(steps) if steps else format_answer(policy.answer())


def calls_of(messages: list[Message]) -> Iterator[Call]:
    """The calls so far with their observations, which follow the assistant message in the order of its calls."""
    pending: list[tuple[str, dict[str, Any]]] = []
    turn = -1
    for message in messages:
        if message.role == "assistant":
            turn += 1
            calls = message.tool_calls or parse_turn(message.content)[1]
            pending = [(call.name, call.arguments) for call in calls]
        elif message.role == "tool" and pending:
            name, arguments = pending.pop(0)
            yield Call(name, arguments, message.content, turn)
