"""The prompts that models see: the ``.md`` files of this folder, where ``$name`` is a placeholder."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

from tasks.core.config import Agent

_SEQUENTIAL = " In this run only the first call of a turn is carried out: make one call per turn."
_CUT = "\n[... the issue goes on; {} more characters are not shown]"


def render_system(agent: Agent, guidance: int | None = None) -> str:
    """The system prompt of an episode.

    ``guidance`` asks a teacher for about that many calls per turn (FuseSearch 3.3). A student never sees it.
    """
    parallelism = _SEQUENTIAL if agent.mode == "sequential" else ""
    system = _render(f"system_{agent.prompt}", turns=agent.max_turns, parallelism=parallelism)
    return system if guidance is None else f"{system}\n{_render('guidance', calls=guidance)}"


def render_issue(agent: Agent, problem_statement: str) -> str:
    """The issue as the user's message, cut at ``agent.issue_chars`` characters."""
    issue = problem_statement.encode("utf-8", "replace").decode("utf-8").strip()
    surplus = len(issue) - agent.issue_chars
    return issue if surplus <= 0 else issue[: agent.issue_chars] + _CUT.format(surplus)


def render_notice(agent: Agent, remaining: int) -> str:
    """The line after the observations that says how many turns remain; empty with the nano prompt."""
    if agent.prompt != "full":
        return ""
    return _render("last_turn") if remaining == 1 else _render("remaining", turns=remaining)


def render_hermes_tools(tools: list[dict[str, Any]]) -> str:
    """Tool schemas and the call format as text, for servers without support for ``tools``."""
    return _render("hermes_tools", schemas="\n".join(json.dumps(tool["function"]) for tool in tools))


def _render(name: str, **values: object) -> str:
    return _template(name).substitute(values)


@cache
def _template(name: str) -> Template:
    return Template(files(__package__).joinpath(f"{name}.md").read_text(encoding="utf-8").strip())
