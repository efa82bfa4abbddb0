"""What all sections of params have in common."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from fusesearch.core.errors import ConfigError

S = TypeVar("S", bound=BaseModel)


class Section(BaseModel):
    """Base of all sections. Immutable. Rejects unknown keys, NaN and infinity."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)


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
