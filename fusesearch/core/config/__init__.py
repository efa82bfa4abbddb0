"""Typed params: one section of ``params.yaml`` per class, every field with its meaning.

``params.yaml`` is the nano profile; ``experiments/profiles/*.yaml`` are overlays for larger scales. Unknown keys are
errors, so that a misspelt param cannot silently do nothing. A section is imported when it is first named: a search needs two.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fusesearch.core.config.data import *  # noqa: F403
    from fusesearch.core.config.episodes import *  # noqa: F403
    from fusesearch.core.config.params import *  # noqa: F403
    from fusesearch.core.config.searching import *  # noqa: F403
    from fusesearch.core.config.section import *  # noqa: F403
    from fusesearch.core.config.training import *  # noqa: F403

_MODULES = ("section", "searching", "episodes", "training", "data", "params")


def __getattr__(name: str) -> Any:
    if not name.startswith("_"):
        for module in (import_module(f"{__name__}.{part}") for part in _MODULES):
            if name in vars(module):
                return globals().setdefault(name, vars(module)[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
