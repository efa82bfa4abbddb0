"""How much the lexical localizer may ask and answer: one plan for tight and one for generous tool limits."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fusesearch.core.config import Agent, Tools

TIGHT_OUTPUT_CHARS = 4000


@dataclass(frozen=True)
class Plan:
    """Limits of one episode."""

    compact: bool  # the policy for tight limits
    turns: int  # assistant messages, the answer included
    calls: int  # calls altogether, roughly: no turn starts once they are used
    first_look: int  # calls before the search narrows down
    names: int  # identifiers to look up
    group: int  # identifiers in one call
    paths: int  # files of tracebacks and of the text to look up
    words: int  # words to count over the repository
    outlines: int  # files whose definitions and matching lines to list
    reads: int  # definitions to read
    read_lines: int  # lines of one read_file call
    follows: int  # callees to look up
    functions: int  # functions in the answer, plus one if the best only wraps it


COMPACT = Plan(
    compact=True,
    turns=4,
    calls=24,
    first_look=8,
    names=4,
    group=1,
    paths=1,
    words=0,
    outlines=0,
    reads=2,
    read_lines=10,
    follows=4,
    functions=1,
)
FULL = Plan(
    compact=False,
    turns=12,
    calls=16,
    first_look=8,
    names=8,
    group=4,
    paths=4,
    words=12,
    outlines=3,
    reads=3,
    read_lines=60,
    follows=6,
    functions=2,
)


def plan_for(tools: Tools, agent: Agent) -> Plan:
    """The plan that fits the limits: compact if observations are short, and never more turns than allowed.

    With one call per turn a plan's calls need more turns, so it uses as many as are allowed.
    """
    plan = COMPACT if tools.output_chars < TIGHT_OUTPUT_CHARS else FULL
    turns = agent.max_turns if agent.mode == "sequential" else min(plan.turns, agent.max_turns)
    return replace(plan, turns=turns, read_lines=min(plan.read_lines, tools.read_lines))
