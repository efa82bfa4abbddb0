"""The scripted policy as a model: its next message is a function of the messages before it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tasks.agents.models.base import Completion, Message, Sampling
from tasks.agents.parsing import format_answer, format_calls, parse_turn
from tasks.localizers.lexical.clues import draw_clues
from tasks.localizers.lexical.compact import Compact
from tasks.localizers.lexical.evidence import Call, Evidence, call_key
from tasks.localizers.lexical.plan import FULL, Plan
from tasks.localizers.lexical.ranking import Ranking, answer_of
from tasks.localizers.lexical.steps import Step, follow, inspect, locate, outline


class LexicalModel:
    """Searches for what the issue names, reads it, follows what it calls, and answers with what fits best.

    ``calls_per_turn`` (1 to 8) is how many calls a turn makes while there are that many worth making.
    """

    name = "lexical"

    def __init__(self, calls_per_turn: int = 4, plan: Plan = FULL) -> None:
        if calls_per_turn < 1:
            raise ValueError(f"calls_per_turn is {calls_per_turn}: it must be at least 1")
        self.calls_per_turn = calls_per_turn
        self.plan = plan

    async def complete(self, messages: list[Message], tools: list[dict[str, Any]], sampling: Sampling) -> Completion:
        """The next turn's calls, or the answer. Nothing is sampled."""
        return Completion(text=self.next_text(messages))

    async def close(self) -> None:
        """Nothing is held."""

    def next_text(self, messages: list[Message]) -> str:
        """The next assistant message as text."""
        issue = next((message.content for message in messages if message.role == "user"), "")
        spoken = sum(message.role == "assistant" for message in messages)
        evidence = Evidence.of(calls_of(messages))
        if self.plan.compact:
            compact = Compact(issue, evidence, self.plan)
            chosen = compact.next_steps(spoken, self.calls_per_turn) if spoken < self.plan.turns - 1 else []
            return format_calls(chosen) if chosen else format_answer(compact.answer())
        ranking = Ranking(draw_clues(issue), evidence)
        steps = next_steps(ranking, self.plan, spoken)[: self.calls_per_turn] if spoken < self.plan.turns - 1 else []
        return format_calls(steps) if steps else format_answer(answer_of(ranking, self.plan.functions, 0.6))


def next_steps(ranking: Ranking, plan: Plan, turn: int) -> list[Step]:
    """All that is worth asking now and was not asked yet, best first."""
    steps = locate(ranking.clues, plan) if turn == 0 else []
    if turn > 0:
        steps = outline(ranking, plan) + inspect(ranking, plan) + follow(ranking, plan)
    asked = ranking.evidence.asked
    unasked = {call_key(*step): step for step in steps if call_key(*step) not in asked}
    return list(unasked.values())


def calls_of(messages: list[Message]) -> Iterator[Call]:
    """The calls made so far with their observations, which follow an assistant message in the order of its calls."""
    pending: list[tuple[str, dict[str, Any]]] = []
    for message in messages:
        if message.role == "assistant":
            calls = message.tool_calls or parse_turn(message.content)[1]
            pending = [(call.name, call.arguments) for call in calls]
        elif message.role == "tool" and pending:
            name, arguments = pending.pop(0)
            yield Call(name, arguments, message.content)
