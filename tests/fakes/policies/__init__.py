"""Stand-ins for a model: ``sensible`` and ``nonsense`` for each localizer, in the file of its name.

Each maps the JSON body of a chat-completions request to the assistant message of the API. They keep no state, seed chance
with the request, and never see the truth: they show that a localizer's program works, not how good it is.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from tasks.core.errors import ConfigError

Policy = Callable[[dict[str, Any]], dict[str, Any]]
STYLES = ("sensible", "nonsense")


def policy_named(name: str, style: str) -> Policy:
    """The policy of a localizer; variants such as ``fusesearch-sequential`` share one. Raises :class:`ConfigError`."""
    module = name.partition("-")[0]
    if style not in STYLES or not module.isidentifier():
        raise ConfigError(f"policy {name}:{style} is unknown: use NAME:{' or NAME:'.join(STYLES)}")
    try:
        return getattr(import_module(f"{__package__}.{module}"), style)
    except ModuleNotFoundError as error:
        if error.name != f"{__package__}.{module}":
            raise
        raise ConfigError(f"no policy for {name!r}: write policies/{module}.py") from None


def by_model(request: dict[str, Any]) -> dict[str, Any]:
    """The policy that the request's model names, as ``cosil:sensible``."""
    name, _, style = str(request.get("model")).partition(":")
    return policy_named(name, style)(request)
