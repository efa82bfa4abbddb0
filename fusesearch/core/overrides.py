"""Override params by dotted keys such as ``sft.epochs``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fusesearch.core.config import Params, Section, overlay, parse_params, section_of
from fusesearch.core.errors import ConfigError

PRESET = "filter.preset"


def override(params: Params, changes: Mapping[str, Any], source: str) -> Params:
    """``params`` with other values for dotted keys. Raises :class:`ConfigError` for an unknown key or a value out of range.

    A preset among the changes decides what they do not name.
    """
    data = params.model_dump(mode="json")
    for key, value in sorted(changes.items(), key=lambda change: change[0] != PRESET):  # what is given besides wins over it
        _check_known(key, source)
        data = overlay(data, nested(key, value))
    return parse_params(data, source)


def _check_known(key: str, source: str) -> None:
    section: type[Section] | None = Params
    for part in key.split("."):
        if section is None or part not in section.model_fields:
            raise ConfigError(f"{source}: there is no param {key!r}")
        section = section_of(section, part)


def nested(key: str, value: Any) -> dict[str, Any]:
    """A dotted key and its value as nested mappings."""
    for part in reversed(key.split(".")):
        value = {part: value}
    return dict(value)


def flatten(value: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one mapping with dotted keys; lists stay values."""
    flat: dict[str, Any] = {}
    for key, item in value.items():
        name = f"{prefix}{key}"
        flat.update(flatten(item, f"{name}.") if isinstance(item, dict) else {name: item})
    return flat


def flat_params(params: Params) -> dict[str, Any]:
    """All params by dotted key; a value that is a mapping stays one."""
    return _flat(params, params.model_dump(mode="json"), "")


def _flat(section: Section, data: dict[str, Any], prefix: str) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in data.items():
        inner = getattr(section, key)
        flat |= _flat(inner, value, f"{prefix}{key}.") if isinstance(inner, Section) else {f"{prefix}{key}": value}
    return flat
