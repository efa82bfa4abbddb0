"""How much the lexical localizer may ask and answer; two sizes, for tight and for generous tool limits."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tasks.core.config import Agent, Tools

TIGHT_OUTPUT_CHARS = 4000


@dataclass(frozen=True)
class Plan:
    """Budgets of one episode. Counts are calls or entries at most."""

    compact: bool  # the policy for tight limits
    turns: int  # assistant messages, the answer included
    calls: int  # calls altogether, about: no turn is begun beyond them
    first_look: int  # calls of the first look, before anything is narrowed down
    names: int  # identifiers whose definition is looked up
    group: int  # identifiers looked up by one call
    paths: int  # files of tracebacks and of the text that are looked up
    words: int  # words counted over the repository
    outlines: int  # files whose definitions and matching lines are listed
    reads: int  # definitions that are read
    read_lines: int  # lines of one reading
    follows: int  # callees whose definition is looked up
    functions: int  # functions answered, and one more where the best merely wraps it


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
    """The plan that fits the limits: compact where observations are short, and never more turns than allowed.

    With one call a turn, the calls of a few turns take many: then it takes as many as are allowed.
    """
    plan = COMPACT if tools.output_chars < TIGHT_OUTPUT_CHARS else FULL
    turns = agent.max_turns if agent.mode == "sequential" else min(plan.turns, agent.max_turns)
    return replace(plan, turns=turns, read_lines=min(plan.read_lines, tools.read_lines))
