"""The lexical localizer: clues from the issue, searched in parallel, ranked by what was observed; no model, no truth.

It is the default teacher of synthesis and a baseline of every table.
"""

from __future__ import annotations

from dataclasses import replace

from tasks.localizers.base import Setup
from tasks.localizers.fusesearch import FuseSearchLocalizer
from tasks.localizers.lexical.model import LexicalModel
from tasks.localizers.lexical.plan import COMPACT, FULL, Plan, plan_for

__all__ = ["COMPACT", "FULL", "LexicalLocalizer", "LexicalModel", "Plan", "plan_for"]

MOST_CALLS = 8
"""Calls in a turn, if ``agent.max_calls_per_turn`` allows so many; one in sequential mode."""


class LexicalLocalizer(FuseSearchLocalizer):
    """The scripted model in the same loop as every other."""

    name = "lexical"

    def __init__(self, setup: Setup) -> None:
        calls = 1 if setup.agent.mode == "sequential" else min(MOST_CALLS, setup.agent.max_calls_per_turn)
        super().__init__(replace(setup, model=LexicalModel(calls, plan_for(setup.tools, setup.agent))))
