"""Profiles on disk: ``params.yaml`` is nano, ``experiments/profiles/NAME.yaml`` are overlays for larger scales."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from tasks.core.config import Params, load_params, overlay, parse_params
from tasks.core.errors import ConfigError
from tasks.core.storage import write_text

PARAMS = Path("params.yaml")
FOLDER = Path("experiments/profiles")
BASE = "nano"
KEPT = Path(".fusesearch/params.nano.yaml")


def names(root: Path) -> list[str]:
    """Names of all profiles of the checkout at ``root``."""
    return [BASE, *sorted(path.stem for path in (root / FOLDER).glob("*.yaml") if path.stem != BASE)]


def load_profile(name: str, root: Path) -> Params:
    """Typed params of a profile. Raises :class:`ConfigError` when it is unknown or malformed."""
    return parse_params(merged(name, root), source=name)


def merged(name: str, root: Path) -> dict[str, Any]:
    """The nano params with the overlay of ``name`` on top, as a plain mapping."""
    base = _mapping(_nano_file(root))
    if name == BASE:
        return base
    path = root / FOLDER / f"{name}.yaml"
    if name not in names(root):
        raise ConfigError(f"no profile {name!r}: there are {', '.join(names(root))}")
    return overlay(base, {"profile": name, **_mapping(path)})


def use(name: str, root: Path) -> None:
    """Make ``name`` the contents of ``params.yaml``; nano's own file is kept and comes back as it was."""
    data = merged(name, root)
    parse_params(data, source=name)
    nano = _nano_file(root).read_text(encoding="utf-8")
    header = f"# Profile {name}: experiments/profiles/{name}.yaml over nano. Back with `fusesearch profile use nano`.\n"
    text = nano if name == BASE else header + _dump(data)
    write_text(root / KEPT, nano)
    write_text(root / PARAMS, text)


def _dump(data: dict[str, Any]) -> str:
    """YAML without anchors: the values are copied through JSON, so that none is the same object as another."""
    return yaml.safe_dump(json.loads(json.dumps(data)), sort_keys=False, allow_unicode=True)


def current(root: Path) -> str:
    """Name of the profile ``params.yaml`` holds."""
    return load_params(root / PARAMS).profile


def _nano_file(root: Path) -> Path:
    if current(root) == BASE:
        return root / PARAMS
    if (root / KEPT).is_file():
        return root / KEPT
    raise ConfigError(f"{PARAMS} holds another profile and the nano params are not kept: git checkout {PARAMS}")


def _mapping(path: Path) -> dict[str, Any]:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid YAML: {error}") from None
    if data is not None and not isinstance(data, dict):
        raise ConfigError(f"{path}: the top level must be a mapping of sections")
    return data or {}
