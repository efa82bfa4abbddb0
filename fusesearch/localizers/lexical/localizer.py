"""The lexical localizer: takes clues from the issue, searches for them in parallel and ranks what it saw; no model, no truth.

It is the default teacher of synthesis and a baseline of every table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from fusesearch.agents.models.base import Message
from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.agents.parsing import format_answer, format_calls, parse_turn
from fusesearch.core.schema import Answer, Location
from fusesearch.localizers.base import Setup
from fusesearch.localizers.fusesearch import FuseSearchLocalizer
from fusesearch.localizers.lexical.callees import callees, code_of
from fusesearch.localizers.lexical.clues import draw_clues
from fusesearch.localizers.lexical.compact import Compact
from fusesearch.localizers.lexical.evidence import Call, Definition, Evidence, call_key
from fusesearch.localizers.lexical.plan import (
    COMPACT,
    FULL,
    Plan,
    Step,
    count,
    find_callers,
    find_definitions,
    find_file,
    grep,
    plan_for,
    read,
)
from fusesearch.localizers.lexical.ranking import OUTLINE, SIZE, Ranking

__all__ = ["COMPACT", "FULL", "LexicalLocalizer", "LexicalModel", "Plan", "plan_for"]

MAX_CALLS = 8
"""Most calls in a turn if ``agent.max_calls_per_turn`` allows them; sequential mode has one."""


class LexicalLocalizer(FuseSearchLocalizer):
    """The scripted model in the same loop as every other."""

    name = "lexical"

    def __init__(self, setup: Setup) -> None:
        calls = 1 if setup.agent.mode == "sequential" else min(MAX_CALLS, setup.agent.max_calls_per_turn)
        super().__init__(replace(setup, model=LexicalModel(calls, plan_for(setup.tools, setup.agent))))


class LexicalModel(ScriptedModel):
    """A policy as a model: each message is a function of the messages before it.

    It searches for what the issue names, reads it, follows what it calls, and answers with what fits best. A turn makes up to
    ``calls_per_turn`` (1 to 8) calls.
    """

    def __init__(self, calls_per_turn: int = 4, plan: Plan = FULL) -> None:
        if calls_per_turn < 1:
            raise ValueError(f"calls_per_turn is {calls_per_turn}: it must be at least 1")
        super().__init__(self.next_text, "lexical")
        self.calls_per_turn = calls_per_turn
        self.plan = plan

    def next_text(self, messages: list[Message]) -> str:
        """The next assistant message as text."""
        issue = next((message.content for message in messages if message.role == "user"), "")
        turn = sum(message.role == "assistant" for message in messages)
        evidence = Evidence.of(calls_of(messages))
        policy = Compact(issue, evidence, self.plan) if self.plan.compact else Survey(issue, evidence, self.plan)
        last = turn >= self.plan.turns - 1 or len(evidence.calls) >= self.plan.calls
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


RUNNER_UP = 0.6


class Survey:
    """Decides from the issue and the evidence what to ask next and what to answer."""

    def __init__(self, issue: str, evidence: Evidence, plan: Plan) -> None:
        self.plan = plan
        self.evidence = evidence
        self.clues = draw_clues(issue)
        self.ranking = Ranking(self.clues, evidence)

    def next_steps(self, turn: int, calls: int) -> list[Step]:
        """Up to ``calls`` calls for this turn (counted from 0), best first; empty when it is time to answer."""
        asked = self.evidence.asked
        steps = self._locate() if turn * calls < self.plan.first_look else []
        unasked = [step for step in steps if call_key(*step) not in asked]
        if not unasked or turn > 0:
            best = self.ranking.best_functions()[: self.plan.reads]
            narrower = self._outline() + [step for definition in best for step in self._read(definition)] + self._follow(best)
            unasked += [step for step in narrower if call_key(*step) not in asked]
        return list({call_key(*step): step for step in unasked}.values())[:calls]

    def answer(self) -> Answer:
        """The best file with its best function; another function only if it scores nearly as high."""
        files = self.ranking.best_files(1)
        if not files:
            return Answer()
        ranked = self.ranking.best_functions(files[0])[: self.plan.functions]
        scores = self.ranking.functions
        best = [d for d in ranked if scores[d] >= RUNNER_UP * scores[ranked[0]]]
        names = [self.evidence.qualified(d, self.ranking.owners.get(d.name)) for d in best]
        modify = [Location(path=files[0], function=name) for name in dict.fromkeys(names)]
        return Answer(modify=modify or [Location(path=files[0])])

    def _locate(self) -> list[Step]:
        """Find files of frames and paths and definitions of names, and count words; all from the issue alone."""
        paths = [frame.path for frame in reversed(self.clues.frames)] + [path for path, _ in self.clues.paths]
        steps = [find_file(path) for path in list(dict.fromkeys(paths))[: self.plan.paths]]
        steps += find_definitions([name.text for name in self.clues.names[: self.plan.names]], self.plan.group)
        steps.append(count(SIZE))
        return steps + [count(f"(?i){re.escape(word)}") for word, _ in self.clues.words[: self.plan.words]]

    def _outline(self) -> list[Step]:
        """List the definitions of the best files, and their lines that match the clues."""
        words = [name.text for name in self.clues.names[:8]] + [word for word, _ in self.clues.words[:12]]
        pattern = "|".join(re.escape(word) for word in dict.fromkeys(words))
        matching = [f"(?i){pattern}"] if pattern else []
        return [grep(wanted, path) for path in self.ranking.best_files(self.plan.outlines) for wanted in (OUTLINE, *matching)]

    def _read(self, definition: Definition) -> list[Step]:
        """Read a definition, or its next part if only its docstring was seen."""
        seen, lines = self.evidence.text_of(definition), self.plan.read_lines
        if len(seen) <= 2:
            return [read(definition.path, definition.line, definition.line + lines - 1)]
        if not code_of(seen) and len(seen) < 3 * lines:
            return [read(definition.path, seen[-1][0] + 1, seen[-1][0] + lines)]
        return []

    def _follow(self, best: list[Definition]) -> list[Step]:
        """Find the functions that the best definitions call, and the callers of the best definitions."""
        names = [name for definition in best for name in callees(self.evidence, definition)]
        unknown = [name for name in dict.fromkeys(names) if not self.evidence.defined(name)]
        return find_definitions(unknown[: self.plan.follows], self.plan.group) + [find_callers(d, everywhere=True) for d in best]
