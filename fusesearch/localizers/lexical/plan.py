"""How much the lexical localizer may ask and answer, and the calls that it makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fusesearch.core.config import Agent
from fusesearch.localizers.lexical.evidence import ROOT, Definition


@dataclass(frozen=True)
class Plan:
    """Limits of one episode."""

    turns: int = 4  # assistant messages, the answer included
    calls: int = 24  # calls altogether, roughly: no turn starts once they are used
    names: int = 4  # identifiers to look up
    reads: int = 2  # definitions to read
    follows: int = 4  # callees to look up
    functions: int = 1  # functions in the answer, plus one if the best only wraps it


def plan_for(agent: Agent) -> Plan:
    """The plan for as many turns as are allowed. With one call per turn its calls need more turns, so it uses all of them."""
    return Plan(turns=agent.max_turns if agent.mode == "sequential" else min(Plan.turns, agent.max_turns))


Step = tuple[str, dict[str, Any]]


def find_definitions(names: list[str]) -> list[Step]:
    """Find where each name is defined."""
    return [grep(rf"(def|class) {name}\b") for name in names]


def find_callers(definition: Definition) -> Step:
    """Find calls of a function in its own file."""
    return grep(rf"\b{definition.name}\(", definition.path)


def grep(pattern: str, path: str | None = None) -> Step:
    """Find matching lines, in one file if ``path`` is given."""
    where = {"path": ROOT + path} if path else {}
    return "grep", {"pattern": pattern, **where, "output_mode": "content"}


def read(path: str, start: int) -> Step:
    """Read lines from ``start`` on, as many as the tool returns by default."""
    return "read_file", {"path": ROOT + path, "start_line": start}
