"""The prompts that models see: the ``.md`` files of this folder and of other packages, where ``$name`` is a placeholder."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

from fusesearch.core.text import encodable

if TYPE_CHECKING:
    from fusesearch.core.config import Agent

_SEQUENTIAL = " In this run only the first call of a turn is carried out: make one call per turn."
_CODE = re.compile(r"\b\w*(?:[a-z][A-Z]|\w_)\w+")
_CUT = "\n[... the issue goes on; {} more characters are not shown]"


def render_system(agent: Agent, guidance: int | None = None, task: str = "system") -> str:
    """The system prompt of an episode.

    ``task`` is the beginning of its file's name: ``system`` for issues, ``questions`` or ``repoqa``. ``guidance`` asks a teacher
    for about that many calls per turn (FuseSearch 3.3). A student never sees it.
    """
    parallelism = _SEQUENTIAL if agent.mode == "sequential" else ""
    system = _render(f"{task}_{agent.prompt}", turns=agent.max_turns, parallelism=parallelism, answers=_render("answers"))
    return system if guidance is None else f"{system}\n{_render('guidance', calls=guidance)}"


def render_issue(agent: Agent, problem_statement: str) -> str:
    """The issue as the user's message, cut at ``agent.issue_chars`` characters."""
    issue = encodable(problem_statement).strip()
    surplus = len(issue) - agent.issue_chars
    return issue if surplus <= 0 else issue[: agent.issue_chars] + _CUT.format(surplus)


def render_notice(agent: Agent, remaining: int) -> str:
    """The line after the observations that says how many turns remain; empty with the nano prompt."""
    if agent.prompt != "full":
        return ""
    return _render("last_turn") if remaining == 1 else _render("remaining", turns=remaining)


def render_reminder(tools: Sequence[dict[str, Any]], issue: str) -> str:
    """The request after a message that neither calls one of ``tools`` nor answers.

    Small models repeat the call that it shows, so this looks for a name of the issue: one written like code, or the longest word.
    """
    names = _CODE.findall(issue) or sorted(re.findall(r"\w+", issue), key=len, reverse=True) or ["main"]
    needs = [(tool["function"]["name"], tool["function"]["parameters"].get("required", ())) for tool in tools]
    tool, required = min(needs, key=lambda need: len(need[1]) != 1)
    call = json.dumps({"name": tool, "arguments": dict.fromkeys(required, names[0][:80])}, ensure_ascii=False)
    return _render("reminder", tools=", ".join(f"`{name}`" for name, _ in needs), call=call)


def render_hermes_tools(tools: list[dict[str, Any]]) -> str:
    """Tool schemas and the call format as text, for servers without support for ``tools``."""
    return _render("hermes_tools", schemas="\n".join(json.dumps(tool["function"]) for tool in tools))


def render(package: str, name: str, **values: object) -> str:
    """The prompt ``name.md`` of ``package`` with each ``$name`` filled in."""
    return _template(package, name).substitute(values)


def _render(name: str, **values: object) -> str:
    return render(__package__, name, **values)


@cache
def _template(package: str, name: str) -> Template:
    return Template(files(package).joinpath(f"{name}.md").read_text(encoding="utf-8").strip())
