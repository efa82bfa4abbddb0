"""In place of Agentless's model: answers files, elements and places whose names the issue shares."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.fakes.policies.parts import chance, fenced, said, texts
from tests.fakes.policies.parts import nonsense as any_nonsense
from tests.fakes.policies.reading import Interest, section, tree_paths

_FILE = re.compile(r"^### (\S+) ###$", re.MULTILINE)
_DEFINITION = re.compile(r"^(?:(\d+)\|)?(\s*)(?:async )?(def|class) (\w+)")
_FILES, _ELEMENTS, _PLACES, _FOLDERS = 5, 12, 5, 3


def sensible(request: dict[str, Any]) -> dict[str, Any]:
    """Answer each question in its format."""
    prompt = texts(request, "user")[-1]
    if "### Repository tree ###" in prompt:
        interest = Interest(section(prompt, "Issue", "Repository tree"))
        paths = list(tree_paths(section(prompt, "Repository tree", "Your answer")))
        return said(
            _folders(paths, interest) if "ending in a slash" in prompt else fenced(interest.best(paths, _FILES, paths=True))
        )
    heading = "Skeletons of files" if "### Skeletons of files ###" in prompt else "Code"
    interest = Interest(section(prompt, "Issue", heading))
    entities = list(_entities(section(prompt, heading, "Your answer")))
    return said(_places(interest.best(entities, _ELEMENTS if heading != "Code" else _PLACES)))


def nonsense(request: dict[str, Any]) -> dict[str, Any]:
    """Nonsense of every kind, and sometimes files that exist, to reach the later questions."""
    draw, prompt = chance(request), texts(request, "user")[-1]
    if "### Repository tree ###" in prompt and draw.random() < 0.7:
        paths = list(tree_paths(section(prompt, "Repository tree", "Your answer")))
        return said(fenced(draw.choices([*paths, "no/such/file.py", "../x.py", "a/"], k=7)))
    if draw.random() < 0.4:
        return said(_places(draw.choices([*_entities(prompt), "no/such/file.py::f", "a.py::class A.b.c", "::", "x::()"], k=9)))
    return any_nonsense(request)


def _folders(paths: list[str], interest: Interest) -> str:
    """Top folders without a file related to the issue."""
    tops = dict.fromkeys(path.partition("/")[0] for path in paths if "/" in path)
    dull = [top for top in tops if not any(interest.in_path(path) > 0 for path in paths if path.startswith(f"{top}/"))]
    return fenced([f"{top}/" for top in dull[:_FOLDERS]])


def _entities(code: str) -> Iterator[str]:
    """``path::Qualified.name`` of the definitions shown, by their indentation; a class counts for itself too."""
    path = ""
    holders: list[tuple[int, str]] = []
    for line in code.split("\n"):
        if file := _FILE.match(line):
            path, holders = file[1], []
        elif definition := _DEFINITION.match(line):
            column = len(definition[2])
            holders = [holder for holder in holders if holder[0] < column]
            name = ".".join([*(holder[1] for holder in holders), definition[4]])
            holders += [(column, definition[4])] if definition[3] == "class" else []
            yield f"{path}::{'class ' if definition[3] == 'class' else ''}{name}"


def _places(entities: list[str]) -> str:
    rows = []
    for entity in entities:
        path, _, name = entity.partition("::")
        kind = "class" if name.startswith("class ") else "function"
        rows += [path, f"{kind}: {name.removeprefix('class ')}", ""]
    return fenced(rows)
