"""Params of an episode: of its tools and of the loop."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fusesearch.core.config.section import Section


class Tools(Section):
    """Limits of the three tools: what a model sees of a result."""

    read_lines: int = Field(1000, ge=1, description="most lines read_file returns")
    grep_lines: int = Field(200, ge=1, description="most result lines (matches, files or counts) grep returns")
    glob_paths: int = Field(100, ge=1, description="most paths glob returns")
    line_chars: int = Field(400, ge=20, description="characters shown of a line; the rest is cut with a mark")
    output_chars: int = Field(30_000, ge=200, description="most characters of one observation")
    context_lines: int = Field(0, ge=0, description="lines of context around a match in content mode")


class Agent(Section):
    """The multi-turn parallel loop (FuseSearch algorithm 1)."""

    toolset: str = Field("fusesearch", description="a name of fusesearch/evaluation/environments.py")
    prompt: Literal["full", "nano"] = Field("full", description="system prompt under fusesearch/agents/prompts")
    mode: Literal["parallel", "sequential"] = "parallel"
    max_turns: int = Field(12, ge=1, description="most assistant messages; the last one must answer")
    max_calls_per_turn: int = Field(8, ge=1, description="calls run in one turn; further ones become errors")
    max_context_tokens: int = Field(32_768, ge=64, description="context length at which the episode ends")
    max_new_tokens: int = Field(2048, ge=8, description="most tokens sampled for one turn")
    issue_chars: int = Field(20_000, ge=100, description="characters of the issue shown to the model")
    reminder: bool = Field(False, description="after a first message with neither a call nor an answer, name the tools once")
    max_seconds: float | None = Field(
        None, gt=0, description="most wall time of one episode; beyond it, the episode counts as errored"
    )
    pre_search: Literal["none", "ranker"] = Field(
        "none",
        description="ranker: the first message shows its first ten locations, inside issue_chars",
    )
    options: dict[str, str] = Field({}, description="own options of localizers by name, see fusesearch/localizers/registry.py")
    history_scope: Literal["turn", "call"] = Field(
        "turn", description="history H of equation 3: earlier turns only, or also earlier calls of the same turn"
    )
