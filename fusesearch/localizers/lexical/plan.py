"""How much the lexical localizer may ask and answer: one plan for tight and one for generous tool limits."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fusesearch.core.config import Agent, Tools

TIGHT_OUTPUT_CHARS = 4000


@dataclass(frozen=True)
class Plan:
    """Limits of one episode; by default those for generous limits of tools."""

    compact: bool = False  # the policy for tight limits
    turns: int = 12  # assistant messages, the answer included
    calls: int = 16  # calls altogether, roughly: no turn starts once they are used
    first_look: int = 8  # calls before the search narrows down
    names: int = 8  # identifiers to look up
    group: int = 4  # identifiers in one call
    paths: int = 4  # files of tracebacks and of the text to look up
    words: int = 12  # words to count over the repository
    outlines: int = 3  # files whose definitions and matching lines to list
    reads: int = 3  # definitions to read
    read_lines: int = 60  # lines of one read_file call
    follows: int = 6  # callees to look up
    functions: int = 2  # functions in the answer, plus one if the best only wraps it


FULL = Plan()
COMPACT = Plan(compact=True, turns=4, calls=24, names=4, reads=2, read_lines=10, follows=4, functions=1)
"""What :class:`~fusesearch.localizers.lexical.compact.Compact` does not use keeps its default."""


def plan_for(tools: Tools, agent: Agent) -> Plan:
    """The plan that fits the limits: compact if observations are short, and never more turns than allowed.

    With one call per turn a plan's calls need more turns, so it uses as many as are allowed.
    """
    plan = COMPACT if tools.output_chars < TIGHT_OUTPUT_CHARS else FULL
    turns = agent.max_turns if agent.mode == "sequential" else min(plan.turns, agent.max_turns)
    return replace(plan, turns=turns, read_lines=min(plan.read_lines, tools.read_lines))
