"""Params with other values for some of their keys, which are named with dots, such as ``sft.epochs``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import yaml

from tasks.core.config import Params, overlay, parse_params
from tasks.core.errors import ConfigError


def override(params: Params, changes: Mapping[str, Any], source: str) -> Params:
    """``params`` with other values for dotted keys. Raises :class:`ConfigError` for an unknown key or a value out of range."""
    data = params.model_dump(mode="json")
    for key, value in changes.items():
        _check_known(data, key, source)
        data = overlay(data, nested(key, value))
    return parse_params(data, source)


def parse_change(text: str) -> tuple[str, Any]:
    """``KEY=VALUE``, the value as JSON or else as YAML. Raises :class:`ConfigError` for anything else."""
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise ConfigError(f"{text!r} is not KEY=VALUE, such as sft.epochs=2")
    with suppress(ValueError):  # before YAML, to which 2e-05 is a string
        return key, json.loads(value)
    try:
        return key, yaml.safe_load(value)
    except yaml.YAMLError:
        raise ConfigError(f"{text!r}: the value is not valid YAML") from None


def _check_known(data: Mapping[str, Any], key: str, source: str) -> None:
    place: Any = data
    for part in key.split("."):
        if not isinstance(place, dict) or part not in place:
            raise ConfigError(f"{source}: there is no param {key!r}")
        place = place[part]


def nested(key: str, value: Any) -> dict[str, Any]:
    """A value by dotted key as nested mappings."""
    for part in reversed(key.split(".")):
        value = {part: value}
    return dict(value)


def flatten(value: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one with dotted keys; lists stay values."""
    flat: dict[str, Any] = {}
    for key, item in value.items():
        name = f"{prefix}{key}"
        flat.update(flatten(item, f"{name}.") if isinstance(item, dict) else {name: item})
    return flat
