"""The texts of OrcaLoca's requests: the ``.md`` files of this folder, filled in."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from string import Template


def render(name: str, **values: object) -> str:
    """A text with its ``$names`` filled in."""
    return _template(name).substitute(values)


@cache
def _template(name: str) -> Template:
    return Template(files(__package__).joinpath(f"{name}.md").read_text(encoding="utf-8").strip())
