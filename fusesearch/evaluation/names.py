"""Whether the names in params are those of the registries, which the params themselves do not know."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

from fusesearch.core.config import Agent, Evaluate, Rewarded, Section, Subject, Validation
from fusesearch.core.errors import ConfigError
from fusesearch.evaluation.environments import environment_named
from fusesearch.evaluation.rewards import make_reward
from fusesearch.localizers.registry import asks_model

S = TypeVar("S", bound=Section)


def check_names(section: S, source: str) -> S:
    """Returns ``section``, whose environments, localizers and rewards are known, and whose cells fit their localizers.

    Raises :class:`ConfigError` with ``source``, key and known names in one line.
    """
    for key, found in _sections(section, ()):
        if (check := _check_of(found)) is None:
            continue
        field, look_up = check
        try:
            look_up()
        except ConfigError as error:
            raise ConfigError(f"{source}: {'.'.join((*key, *field))}: {error}") from None
    return section


def _check_of(section: Section) -> tuple[tuple[str, ...], Callable[[], object]] | None:
    """Which key of a section holds a name, and what raises if that is unknown."""
    match section:
        case Agent(toolset=name):
            return ("toolset",), partial(environment_named, name)
        case Evaluate(agent={"toolset": name}):
            return ("agent", "toolset"), partial(environment_named, name)
        case Rewarded(reward=name):
            return ("reward",), partial(make_reward, name)
        case Validation(floor=name) if name:
            return ("floor",), partial(_check_subject, Subject(localizer=name))
        case Subject():
            return (), partial(_check_subject, section)
    return None


def _check_subject(subject: Subject) -> None:
    asks = asks_model(subject.localizer)
    if asks != bool(subject.checkpoint):
        fault = f"asks {'a' if asks else 'no'} model: {'give' if asks else 'leave out'} checkpoint"
        raise ConfigError(f"{subject.localizer} {fault}")


def _sections(value: Any, key: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Section]]:
    """All sections in ``value``, each with its key."""
    if isinstance(value, Section):
        yield key, value
    if isinstance(value, Section | dict):
        for name, inner in dict(value).items():
            yield from _sections(inner, (*key, str(name)))
