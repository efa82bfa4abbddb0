"""What all sections of params have in common."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)

from fusesearch.core.errors import ConfigError

S = TypeVar("S", bound=BaseModel)


ADDED: dict[int, dict[str, dict[str, Any]]] = {
    2: {
        "Agent": {"pre_search": "none"},
        "Compute": {"ranks": 1},
        "Evaluate": {"agent": {}, "rollouts": "transformers"},
        "GitHubSource": {"questions": False},
        "Grid": {"compute": None, "training": None},
        "Grpo": {
            "judge": {"model": "", "base_url": "", "api_key_env": "OPENAI_API_KEY", "rubric": "coreqa"},
            "lora": {"rank": 0},
        },
        "Sft": {"lora": {"rank": 0}},
    },
    3: {"ModelSection": {"matmul": "highest"}},
    4: {},  # ended compute.machines, which all recorded runs left at 1
    5: {"Grpo": {"validation": {"every": 0, "prompts": 32, "keep_best": False}}},
    6: {"Grpo": {"warmup_steps": 5}},
    7: {"Grpo": {"tokens_per_pass": None}},
    8: {"Compute": {"verl_options": []}, "Grpo": {"engine": "trl", "verl_config": "search"}},
    9: {"Agent": {"encoder": "", "query_prefix": None}},
    10: {},  # was the section of a stage that is gone
    11: {"Split": {"without": []}},
}
"""Params that a version of the schema added, by section, each with the value that all earlier runs had.

:func:`as_recorded` leaves out a param with this value, so runs keep their ids. The value stays as it is when a default changes.
"""
SCHEMA = max(ADDED)
"""The current version."""

RECORDED = "recorded"
"""Context of a dump in which :data:`ADDED` counts."""


class Section(BaseModel):
    """Base of all sections. Immutable. Rejects unknown keys, NaN and infinity."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)

    @model_serializer(mode="wrap")
    def _without_what_earlier_runs_had(self, dump: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, Any]:
        values: dict[str, Any] = dump(self)
        if info.context == RECORDED:
            for sections in ADDED.values():
                earlier = sections.get(type(self).__name__, {})
                values = {key: value for key, value in values.items() if key not in earlier or value != earlier[key]}
        return values


def as_recorded(model: BaseModel) -> dict[str, Any]:
    """The values as JSON for ids, and for files that have to stay equal when the schema grows: see :data:`ADDED`."""
    return model.model_dump(mode="json", context=RECORDED)


def _ascending(drawn: tuple[int, int]) -> tuple[int, int]:
    if not 1 <= drawn[0] <= drawn[1]:
        raise ValueError(f"{list(drawn)} is not a range: write two numbers from 1 on, the smaller one first")
    return drawn


Range = Annotated[tuple[int, int], AfterValidator(_ascending)]
"""Two numbers from 1 on; values are drawn from between them, both included."""


def parse_section(section: type[S], data: Any, source: str) -> S:
    """Check the mapping of one section, or of another model. Raises :class:`ConfigError` with key and reason."""
    try:
        return section.model_validate(data)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(str(part) for part in e['loc']) or 'top level'}: {e['msg']}" for e in error.errors()[:5])
        raise ConfigError(f"{source}: {problems}") from None
