"""The lexical localizer: clues from the issue, searched in parallel, ranked by what was observed; no model, no truth.

It is the default teacher of synthesis and a baseline of every table.
"""

from __future__ import annotations

from tasks.agents.loop import OnEvent
from tasks.core.config import Agent, Tools
from tasks.localizers.fusesearch import FuseSearchLocalizer
from tasks.localizers.lexical.model import LexicalModel
from tasks.localizers.lexical.plan import COMPACT, FULL, Plan, plan_for

__all__ = ["COMPACT", "FULL", "LexicalLocalizer", "LexicalModel", "Plan", "plan_for"]


class LexicalLocalizer(FuseSearchLocalizer):
    """The scripted model in the same loop as every other; ``calls_per_turn`` is 1 in sequential mode."""

    def __init__(
        self, agent: Agent, tools: Tools, *, calls_per_turn: int = 8, guidance: int | None = None, on_event: OnEvent | None = None
    ) -> None:
        calls = 1 if agent.mode == "sequential" else min(guidance or calls_per_turn, agent.max_calls_per_turn)
        model = LexicalModel(calls, plan_for(tools, agent))
        super().__init__(model, agent, tools, guidance=guidance, name="lexical", on_event=on_event)
