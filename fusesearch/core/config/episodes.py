"""Params of the evaluation of episodes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints

from fusesearch.core.config.searching import Agent
from fusesearch.core.config.section import Section

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
