"""Turns what a reproducer did into a user's report: imports, statements, output, traceback."""

from __future__ import annotations

import ast
import builtins
import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from fusesearch.data.sources.synthetic import doctests
from fusesearch.data.sources.synthetic.corpus import CONVENTIONAL, Corpus, Function, shortened
from fusesearch.data.sources.synthetic.issues import Symptom, TracebackEntry
from fusesearch.data.sources.synthetic.recording import Unit

MAX_FRAMES = 3
MAX_CODE_CHARS = 90


@dataclass(frozen=True)
class Mutated:
    """The mutated file: its text, and how many lines it has more than the original."""

    function: Function
    text: str
    lines_added: int


def symptom_of(unit: Unit, outcomes: Sequence[doctests.Outcome], mutated: Mutated, corpus: Corpus) -> Symptom:
    """What a user saw: the statements up to the one that went wrong, and its result."""
    run, outcome = unit.examples[: len(outcomes)], outcomes[-1]
    promised = run[-1].exception
    return Symptom(
        imports=tuple(imports_of(unit.module, run)),
        statements=tuple(example.shown for example in run),
        want="" if promised else run[-1].want,
        got="" if outcome.exception else outcome.got,
        exception=outcome.exception,
        message=outcome.message,
        promised=(promised or "").strip().split("\n")[0],
        traceback=tuple(_traceback(outcome, mutated, corpus)),
    )


def is_trivial(example: doctests.Example, outcome: doctests.Outcome) -> bool:
    """Whether outputs differ only in the order of a set or dict or in a float's last digits: not a fair report."""
    if outcome.exception or example.exception:
        return False
    want, got = example.want.split(), outcome.got.split()
    if want == got or ("{" in example.want and sorted(example.want) == sorted(outcome.got)):
        return True
    return len(want) == len(got) and all(a == b or _close(a, b) for a, b in zip(want, got, strict=True))


def _close(first: str, second: str) -> bool:
    with contextlib.suppress(ValueError):
        a, b = float(first.strip("[](),;")), float(second.strip("[](),;"))
        return abs(a - b) <= 1e-6 * max(abs(a), abs(b))
    return False


def imports_of(module: str, examples: Sequence[doctests.Example]) -> Iterator[str]:
    """Imports of the names that the statements take from their docstring's module."""
    tree = ast.parse("\n".join(example.source for example in examples))
    bound = doctests.bound_names(tree)
    if "*" in bound:
        return
    names = vars(sys.modules[module])
    homes: dict[str, list[str]] = {}
    for name in sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - bound - set(CONVENTIONAL)):
        if name not in names or name.startswith("__") or hasattr(builtins, name):
            continue
        if isinstance(names[name], ModuleType):
            real = names[name].__name__
            yield f"import {real}" if real == name else f"import {real} as {name}"
        else:
            homes.setdefault(_home(name, names[name], module), []).append(name)
    yield from (f"from {home} import {', '.join(names)}" for home, names in homes.items())


def _home(name: str, thing: Any, module: str) -> str:
    """Where a user would import the thing from: the outermost package that has it."""
    parents = [".".join(module.split(".")[:count]) for count in range(1, module.count(".") + 2)]
    home = next((parent for parent in parents if getattr(sys.modules.get(parent), name, None) is thing), module)
    origin = getattr(thing, "__module__", None)
    if home == module and isinstance(origin, str) and getattr(sys.modules.get(origin), name, None) is thing:
        home = origin
    return home


def _traceback(outcome: doctests.Outcome, mutated: Mutated, corpus: Corpus) -> list[TracebackEntry]:
    """The last frames; if none of them is in the repository, the last one that is comes first."""
    frames = list(outcome.frames)
    tail = frames[-MAX_FRAMES:]
    inside = [frame for frame in frames if frame.filename in corpus.paths]
    if inside and not any(frame.filename in corpus.paths for frame in tail):
        tail = [inside[-1], *frames[-MAX_FRAMES + 1 :]]
    return [_entry(frame, mutated, corpus) for frame in tail]


def _entry(frame: doctests.Frame, mutated: Mutated, corpus: Corpus) -> TracebackEntry:
    path, line = corpus.paths.get(frame.filename), frame.line
    if path is not None and path == mutated.function.path:
        if line > mutated.function.end and frame.name != mutated.function.name.split(".")[-1]:
            line += mutated.lines_added
        code = _nth(mutated.text.split("\n"), line)
        line = shortened(mutated.text).line(line)
    else:
        code = _line_of(frame.filename, line)
        line = corpus.committed(path).line(line) if path else line
    return TracebackEntry(path or _installed_path(frame.filename), line, frame.name, code if len(code) <= MAX_CODE_CHARS else "")


def _installed_path(filename: str) -> str:
    for base in sorted(sys.path, key=len, reverse=True):
        if base and filename.startswith(base.rstrip("/") + "/"):
            return filename[len(base.rstrip("/")) + 1 :]
    return os.path.basename(filename)


def _line_of(filename: str, line: int) -> str:
    try:
        with open(filename, encoding="utf-8") as handle:
            return _nth(handle.read().split("\n"), line)
    except (OSError, UnicodeDecodeError):
        return ""


def _nth(lines: Sequence[str], line: int) -> str:
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""
