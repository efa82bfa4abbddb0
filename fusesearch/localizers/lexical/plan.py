"""How much the lexical localizer may ask and answer: one plan for tight and one for generous tool limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fusesearch.core.config import Agent, Tools
from fusesearch.localizers.lexical.evidence import ROOT, Definition

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


Step = tuple[str, dict[str, Any]]


def find_definitions(names: list[str], group: int) -> list[Step]:
    """Find where names are defined, ``group`` names per call."""
    batches = ["|".join(names[i : i + group]) for i in range(0, len(names), group)]
    return [grep(rf"(def|class) ({batch})\b" if "|" in batch else rf"(def|class) {batch}\b") for batch in batches]


def find_callers(definition: Definition, everywhere: bool = False) -> Step:
    """Find calls of a function in its own file, or in all files."""
    return grep(rf"\b{definition.name}\(", None if everywhere else definition.path)


def find_file(path: str) -> Step:
    """Find a file that the issue names."""
    return "glob", {"pattern": "**/" + "/".join(path.strip("/").split("/")[-2:])}


def count(pattern: str) -> Step:
    """Count the matches of a pattern in each Python file."""
    return "grep", {"pattern": pattern, "glob": "*.py", "output_mode": "count"}


def grep(pattern: str, path: str | None = None) -> Step:
    """Find matching lines, in one file if ``path`` is given."""
    where = {"path": ROOT + path} if path else {}
    return "grep", {"pattern": pattern, **where, "output_mode": "content"}


def read(path: str, start: int, end: int | None = None) -> Step:
    """Read lines from ``start`` to ``end``, or as many as the tool returns by default."""
    last = {} if end is None else {"end_line": end}
    return "read_file", {"path": ROOT + path, "start_line": start, **last}
