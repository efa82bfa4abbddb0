"""Profiles of a checkout: ``params.yaml`` is nano; ``experiments/profiles/NAME.yaml`` are overlays for larger scales."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fusesearch.core.caches import IN_CHECKOUT
from fusesearch.core.errors import ConfigError

if TYPE_CHECKING:
    from fusesearch.core.config import Params

PARAMS = Path("params.yaml")
FOLDER = Path("experiments/profiles")
BASE = "nano"
NANO_COPY = IN_CHECKOUT / "params.nano.yaml"


def names(root: Path) -> list[str]:
    """Names of all profiles of the checkout at ``root``."""
    return [BASE, *sorted(path.stem for path in (root / FOLDER).glob("*.yaml") if path.stem != BASE)]


def load_profile(name: str, root: Path) -> Params:
    """Typed params of a profile. Raises :class:`ConfigError` when it is unknown or malformed."""
    from fusesearch.core.config import parse_params
    from fusesearch.evaluation.names import check_names

    return check_names(parse_params(merged(name, root), source=name), name)


def merged(name: str, root: Path, over: str = BASE) -> dict[str, Any]:
    """The params of ``over``, nano's or a profile's, with the overlay of ``name`` on top, as a plain mapping."""
    from fusesearch.core.config import overlay, read_mapping

    base = read_mapping(nano_file(root)) if over == BASE else merged(over, root)
    if name == BASE:
        return base
    if name not in names(root):
        raise ConfigError(f"no profile {name!r}: there are {', '.join(names(root))}")
    return overlay(base, {"profile": name, **read_mapping(root / FOLDER / f"{name}.yaml")})


def current(root: Path) -> str:
    """Name of the profile in ``params.yaml``."""
    from fusesearch.core.config import load_params

    return load_params(root / PARAMS).profile


def nano_file(root: Path) -> Path:
    """The file with nano's params: ``params.yaml``, or the copy of it that a switch to another profile has kept."""
    if current(root) == BASE:
        return root / PARAMS
    if (root / NANO_COPY).is_file():
        return root / NANO_COPY
    raise ConfigError(f"{PARAMS} holds another profile and the copy of nano's params is missing: git checkout {PARAMS}")
