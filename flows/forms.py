"""Forms for deployments: the sections of ``params.yaml`` with every field optional, as Prefect's pages show and check them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.fields import FieldInfo

from tasks.core.config import Params, Section


@cache
def form(section: type[Section], only: frozenset[str] = frozenset()) -> type[BaseModel]:
    """``section``, or ``only`` some of its fields, each optional; what is left empty stays as it is in ``params.yaml``."""
    shown = {name: field for name, field in section.model_fields.items() if not only or name in only}
    fields = {name: (_kind(field) | None, _optional(field)) for name, field in shown.items()}
    return create_model(  # type: ignore[call-overload]
        section.__name__, __config__=ConfigDict(extra="forbid"), __doc__=section.__doc__, **fields
    )


def forms_of(names: tuple[str, ...]) -> dict[str, type[BaseModel]]:
    """The forms of those params of a stage that are sections, by name; of ``grpo.alpha`` and the like with only such fields."""
    sections: dict[str, set[str]] = {}
    for name in names:
        section, _, field = name.partition(".")
        sections.setdefault(section, set()).add(field)
    kinds = {name: _section(Params.model_fields[name]) for name in sections}
    return {name: form(kind, frozenset(() if "" in sections[name] else sections[name])) for name, kind in kinds.items() if kind}


def plain_of(names: tuple[str, ...]) -> dict[str, Any]:
    """The kinds of those params of a stage that are in no section, such as ``seed``, by name; each optional."""
    fields = {name: Params.model_fields[name] for name in names if "." not in name}
    return {name: _kind(field) | None for name, field in fields.items() if not _section(field)}


def changes(filled: Mapping[str, Any]) -> dict[str, Any]:
    """What was filled in, as values by dotted key, such as ``sft.epochs``."""
    return {key: item for name, value in filled.items() for key, item in _changes(name, value).items()}


def _changes(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, BaseModel):
        return {} if value is None else {name: value}
    inner = [_changes(f"{name}.{key}", getattr(value, key)) for key in type(value).model_fields]
    return {key: item for part in inner for key, item in part.items()}


def _kind(field: FieldInfo) -> Any:
    if section := _section(field):
        return form(section)
    return Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation


def _section(field: FieldInfo) -> type[Section] | None:
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, Section) else None


def _optional(field: FieldInfo) -> Any:
    return Field(None, description=field.description)
