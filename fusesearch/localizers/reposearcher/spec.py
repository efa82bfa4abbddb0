"""RepoSearcher's tools in the one loop, so that a model can be trained with them (ToolTrain, section 3.3).

Exit's result asks for the answer, and the first message without a call is the answer: nobody reminds the model. No turn is ever
left out of the conversation; an episode ends at the limit of its context.
"""

from __future__ import annotations

from fusesearch.agents.prompts import render, render_issue, render_system
from fusesearch.agents.recording import Instructions
from fusesearch.agents.specs import EpisodeSpec
from fusesearch.core.config import Agent, Tools
from fusesearch.localizers.reposearcher.tools import ANSWERS, LAST_TURNS, SearchTools, schemas
from fusesearch.search.repository import Repository


def _open(repository: Repository, agent: Agent, limits: Tools) -> SearchTools:
    if agent.prompt == "nano":
        return SearchTools(repository, limits)
    return SearchTools(repository, limits, ending=render(__package__, "answer", most=ANSWERS))


def _instruct(agent: Agent, problem_statement: str, guidance: int | None) -> Instructions:
    """Guidance on parallel calls does not apply: each turn runs one call."""
    issue = render_issue(agent, problem_statement)
    if agent.prompt == "nano":
        return Instructions(render_system(agent), issue, [])
    return Instructions(render(__package__, "system", calls=max(agent.max_turns - LAST_TURNS, 0)), issue, schemas())


REPOSEARCHER = EpisodeSpec(open=_open, instruct=_instruct, schemas=schemas, mode="sequential")
