"""What episodes are made of: the tools, the instructions and the reader of answers.

:func:`fusesearch.localizers.episodes.make_episode` finds a spec by the name in ``agent.toolset``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fusesearch.agents.answers import parse_values
from fusesearch.agents.loop import CallRunner
from fusesearch.agents.parsing import parse_answer
from fusesearch.agents.prompts import render_issue, render_system
from fusesearch.agents.recording import Instructions
from fusesearch.core.config import Agent, Tools
from fusesearch.core.errors import ConfigError
from fusesearch.core.schema import Answer, Mode
from fusesearch.search.repoqa import REPOQA
from fusesearch.search.repository import Repository
from fusesearch.search.tool import Tool
from fusesearch.search.tools import TOOLS, Toolbox, schemas


@dataclass(frozen=True)
class EpisodeSpec:
    """The parts of an episode.

    ``open`` returns the tools of an agent over a repository within limits. ``instruct`` writes the instructions for a problem
    statement, including the reader of answers; its last argument is the number of calls per turn that a teacher is asked for,
    which a student never sees. ``schemas`` are the tools as a model's API takes them. ``mode``, if given, replaces the agent's.
    ``questions``, if given, is the spec of questions, and the other parts are those of issues.
    """

    open: Callable[[Repository, Agent, Tools], CallRunner]
    instruct: Callable[[Agent, str, int | None], Instructions]
    schemas: Callable[[], list[dict[str, Any]]]
    mode: Mode | None = None
    questions: EpisodeSpec | None = None

    def of(self, question: bool | None) -> EpisodeSpec:
        """The spec for a question, or for an issue; :class:`ConfigError` where that is not known and matters."""
        if self.questions is None:
            return self
        if question is None:
            raise ConfigError("agent.toolset both is for training: use fusesearch for issues and questions for questions")
        return self.questions if question else self


def _spec(task: str, tools: Mapping[str, type[Tool]], read: Callable[[str], Answer], mode: Mode | None = None) -> EpisodeSpec:
    """Search tools with the instructions of ``task``. Guidance on parallel calls does not apply to one call per turn."""

    def instruct(agent: Agent, text: str, guidance: int | None) -> Instructions:
        system = render_system(agent, None if mode == "sequential" else guidance, task)
        return Instructions(system, render_issue(agent, text), schemas(tools) if agent.prompt == "full" else [], read)

    return EpisodeSpec(
        open=lambda repository, agent, limits: Toolbox(repository, limits, tools=tools),
        instruct=instruct,
        schemas=lambda: schemas(tools),
        mode=mode,
    )


FUSESEARCH = _spec("system", TOOLS, parse_answer)

QUESTIONS = _spec("questions", TOOLS, parse_values)
"""Questions with the tools of FuseSearch, several calls per turn."""

BOTH = replace(FUSESEARCH, questions=QUESTIONS)
"""Issues and questions, for one student of both."""

REPO_QA = _spec("repoqa", REPOQA, parse_values, mode="sequential")
"""RepoQA-Agent: five tools, one call per turn (RepoSearch-R1 section 2.3)."""
