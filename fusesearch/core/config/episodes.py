"""Params of an episode, and of the evaluation of episodes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints

from fusesearch.core.config.section import Section


class Tools(Section):
    """Limits of the three tools: what a model sees of a result."""

    read_lines: int = Field(1000, ge=1, description="most lines read_file returns")
    grep_lines: int = Field(200, ge=1, description="most result lines (matches, files or counts) grep returns")
    glob_paths: int = Field(100, ge=1, description="most paths glob returns")
    line_chars: int = Field(400, ge=20, description="characters shown of a line; the rest is cut with a mark")
    output_chars: int = Field(30_000, ge=200, description="most characters of one observation")
    context_lines: int = Field(0, ge=0, description="lines of context around a match in content mode")
    timeout_seconds: float = Field(10.0, gt=0, description="wall time one call may take")
    concurrency: int = Field(8, ge=1, description="ripgrep processes at once")


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
    max_seconds: float | None = Field(
        None, gt=0, description="most wall time of one episode; beyond it, the episode counts as errored"
    )
    pre_search: Literal["none", "ranker"] = Field(
        "none",
        description="ranker: the first message shows its first ten locations, inside issue_chars",
    )
    sure: float = Field(
        0.8,
        ge=0,
        le=1,
        description="confidence from which the localizer routing asks no model",
    )
    history_scope: Literal["turn", "call"] = Field(
        "turn", description="history H of equation 3: earlier turns only, or also earlier calls of the same turn"
    )


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$")]
"""Part of the name of a folder."""


class Subject(Section):
    """What a cell of an evaluation measures: a localizer, with the model of a checkpoint if it asks one."""

    localizer: str = Field("fusesearch", description="a name of fusesearch/localizers/registry.py")
    checkpoint: str = Field(
        "", description="a folder; in params.yaml also base, sft or grpo, what the stages start from and make"
    )


def _of_agent(values: dict[str, Any]) -> dict[str, Any]:
    Agent.model_validate(values)
    return values


class Evaluate(Section):
    """Scores of checkpoints and localizers on held-out instances."""

    agent: Annotated[dict[str, Any], AfterValidator(_of_agent)] = Field(
        {},
        description="values of the section agent that hold here alone, such as another max_turns than in training",
    )
    cells: dict[Name, Subject] = Field(
        {name: Subject(checkpoint=checkpoint) for name, checkpoint in (("base", "base"), ("sft", "sft"), ("sft+rl", "grpo"))}
        | {"lexical": Subject(localizer="lexical")},
        min_length=1,
        description="what is scored, by name, in the order of the tables",
    )
    rollouts: Literal["transformers", "vllm"] = Field(
        "transformers",
        description="what samples a checkpoint: the stage's own processes, or vLLM servers (section compute)",
    )
    max_instances: int | None = Field(None, ge=1)
    runs: int = Field(3, ge=1, description="runs per instance; the paper averages over three")
    temperature: float = Field(0.7, ge=0)
    concurrency: int = Field(64, ge=1)


class Report(Section):
    """Tables and intervals."""

    confidence: float = Field(0.95, gt=0, lt=1)
