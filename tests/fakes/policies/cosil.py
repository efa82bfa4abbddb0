"""In place of CoSIL's model: files by their names, then code of what the issue names and of what that calls."""

from __future__ import annotations

import re
from typing import Any

from tests.fakes.policies.parts import chance, fenced, paths_in, said, texts
from tests.fakes.policies.parts import nonsense as any_nonsense
from tests.fakes.policies.reading import Interest, section, tree_paths

_CALL = re.compile(r"(get_\w+)\(([^()]*)\)")
_FILES, _CALLS, _PLACES, _ENOUGH = 5, 6, 5, 2


def sensible(request: dict[str, Any]) -> dict[str, Any]:
    """Answer the questions about files, search with up to six calls, keep code that shares names with the issue, rank it."""
    prompts = texts(request, "user")
    prompt = prompts[-1]
    if "### Text ###" in prompt:
        return said(fenced(paths_in(section(prompt, "Text"))[:_FILES]))
    if "### Asked for ###" in prompt:
        related = Interest(section(prompt, "Issue", "Asked for")).in_text(section(prompt, "Code", "Your answer")) >= _ENOUGH
        return said(fenced(["True" if related else "False"]))
    if "### Repository tree ###" in prompt:
        return said(fenced(_files(prompt)))
    interest = Interest(section(prompts[0], "Issue", "Files that probably hold the fault"))
    entities = _entities(section(prompts[0], "Files that probably hold the fault"))
    if len(prompts) == 1:
        return said("I would look at " + ", ".join(interest.best(entities, 7)) + ".")
    return said(_ranking(request, interest, entities) if "The search is over" in prompt else _call(request, interest, entities))


def nonsense(request: dict[str, Any]) -> dict[str, Any]:
    """Nonsense of every kind, and sometimes partly right files and calls, to reach the later questions."""
    draw, prompt = chance(request), texts(request, "user")[-1]
    if "### Repository tree ###" in prompt and draw.random() < 0.7:
        paths = list(tree_paths(section(prompt, "Repository tree", "Your answer")))
        return said(fenced(draw.choices([*paths, "no/such/file.py"], k=7)))
    if "Call one function now" in prompt and draw.random() < 0.7:
        values = ["'setup.py'", "''", "'../../etc/passwd'", "'a' * 9", "None", "__import__('os')", "'" + "x" * 3000 + "'"]
        kinds = ("code_of_file_function", "code_of_class", "functions_of_class", "code_of_class_function")
        names = [*(f"get_{kind}" for kind in kinds), "exit", "eval"]
        return said(f"{draw.choice(names)}({', '.join(draw.choices(values, k=draw.randint(0, 4)))})")
    return any_nonsense(request)


def _files(prompt: str) -> list[str]:
    """Files by their names; once imports are shown, the files found before and then those they import."""
    following = "Files found" if "### Imports ###" in prompt else "Your answer"
    interest = Interest(section(prompt, "Issue", "Repository tree"))
    paths = list(tree_paths(section(prompt, "Repository tree", following)))
    if following == "Your answer":
        return interest.best(paths, _FILES, paths=True)
    found = section(prompt, "Files found", "Imports").split("\n")
    near = set(paths_in(section(prompt, "Imports", "Your answer")))
    return interest.best([*found, *(path for path in paths if path in near)], _FILES, paths=True)


def _entities(structure: str) -> list[str]:
    """``path::name`` of the functions and methods of a list of files."""
    path, found = "", []
    for line in structure.split("\n"):
        head, _, names = line.strip().partition(": ")
        if head == "file":
            path = names
        elif head == "functions outside of classes" and names != "none":
            found += [f"{path}::{name}" for name in names.split(", ")]
        elif head.startswith("methods of ") and names != "none":
            found += [f"{path}::{head.removeprefix('methods of ')}.{name}" for name in names.split(", ")]
    return found


def _call(request: dict[str, Any], interest: Interest, entities: list[str]) -> str:
    """The best function not yet seen: of those that the last code calls if it was kept, else of all."""
    made = _looked_at(request)
    if len(made) >= _CALLS:
        return "exit()"
    last = texts(request, "user")[-1]
    near = re.findall(r"[\w./-]+\.py::[\w.]+", last.partition("It calls: ")[2].partition("\n")[0])
    near = [entity for entity in near if interest.in_name(entity.rpartition("::")[2]) >= 10]
    left = [entity for entity in [*near, *interest.best(entities, 20)] if entity not in made]
    if not left:
        return "exit()"
    path, _, name = left[0].partition("::")
    holder, _, last_name = name.rpartition(".")
    if holder:
        return f"get_code_of_class_function('{path}', '{holder}', '{last_name}')"
    return f"get_code_of_file_function('{path}', '{name}')"


def _looked_at(request: dict[str, Any]) -> list[str]:
    """Functions asked for before, in order."""
    calls = (_CALL.search(text) for text in texts(request, "assistant"))
    arguments = ([value.strip(" '") for value in call[2].split(",")] for call in calls if call)
    return [f"{path}::{'.'.join(names)}" for path, *names in arguments]


def _ranking(request: dict[str, Any], interest: Interest, entities: list[str]) -> str:
    pruned = [text.startswith("The code was looked at") for text in texts(request, "user")[3:]]
    kept = [entity for entity, dropped in zip(_looked_at(request), pruned, strict=False) if not dropped]
    rows = []
    for entity in interest.best([*kept, *(() if kept else entities)], _PLACES):
        path, _, name = entity.partition("::")
        rows += [path, f"function: {name}", ""]
    return fenced(rows)
