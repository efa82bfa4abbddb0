"""Turns what a reproducer did into a user's report: imports, statements, output, traceback, in a user's words.

All facts come from running the reproducer. The wording, one of the
templates in ``issues.json``, depends on the instance's key alone.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import hashlib
import linecache
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

from fusesearch.core.storage import read_json
from fusesearch.data.sources.synthetic import doctests
from fusesearch.data.sources.synthetic.corpus import CONVENTIONAL, Corpus, Function, shortened
from fusesearch.data.sources.synthetic.recording import Unit

MAX_FRAMES = 3
MAX_CODE_CHARS = 90
MAX_ISSUE_CHARS = 900
MAX_SHOWN_CHARS = 240
_TITLE_CHARS = 44
_SUBJECT_CHARS = 60
_MESSAGE_CHARS = 160

_TEMPLATES: dict[str, dict[str, list[str]]] = read_json(Path(__file__).with_name("issues.json"))
_TITLES, _OPENINGS, _RESULTS, _CLOSINGS = (_TEMPLATES[name] for name in ("titles", "openings", "results", "closings"))
_WRAPPERS = {
    *("all", "any", "bool", "dict", "enumerate", "float", "frozenset", "int", "isinstance", "iter", "len", "list", "max", "min"),
    *("next", "pprint", "pretty_print", "print", "range", "repr", "round", "set", "sorted", "str", "sum", "tuple", "type", "zip"),
}

Choose = Callable[[Sequence[str]], str]
"""Chooses one of several templates."""


@dataclass(frozen=True)
class Symptom:
    """What happened. ``statements`` end with the one that went wrong.

    ``exception`` is the type raised, if any, with ``message``; ``promised`` is the exception that the documentation shows
    (``Type: message``), if any. Otherwise ``want`` is the documented output and ``got`` the real one. ``traceback`` are the
    printed lines of its frames, with paths relative to the repository or the installation.
    """

    imports: tuple[str, ...]
    statements: tuple[str, ...]
    want: str
    got: str
    exception: str | None = None
    message: str = ""
    promised: str = ""
    traceback: tuple[str, ...] = ()

    @property
    def promised_type(self) -> str:
        """Name of the promised exception."""
        return self.promised.split(":")[0].strip().split(".")[-1]


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
        traceback=tuple(_frames(outcome, mutated, corpus)),
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


def _frames(outcome: doctests.Outcome, mutated: Mutated, corpus: Corpus) -> Iterator[str]:
    """Lines of the last frames; if none of them is in the repository, the last one that is comes first."""
    frames = list(outcome.frames)
    tail = frames[-MAX_FRAMES:]
    inside = [frame for frame in frames if frame.filename in corpus.paths]
    if inside and not any(frame.filename in corpus.paths for frame in tail):
        tail = [inside[-1], *frames[-MAX_FRAMES + 1 :]]
    for frame in tail:
        yield from _entry(frame, mutated, corpus)


def _entry(frame: doctests.Frame, mutated: Mutated, corpus: Corpus) -> Iterator[str]:
    path, line = corpus.paths.get(frame.filename), frame.line
    if path is not None and path == mutated.function.path:
        if line > mutated.function.end and frame.name != mutated.function.name.split(".")[-1]:
            line += mutated.lines_added
        code = "".join(mutated.text.split("\n")[line - 1 : line])
        line = shortened(mutated.text).line(line)
    else:
        code = linecache.getline(frame.filename, line)
        line = corpus.committed(path).line(line) if path else line
    yield f'  File "{path or _installed_path(frame.filename)}", line {line}, in {frame.name}'
    if 0 < len(code.strip()) <= MAX_CODE_CHARS:
        yield f"    {code.strip()}"


def _installed_path(filename: str) -> str:
    for base in sorted(sys.path, key=len, reverse=True):
        if base and filename.startswith(base.rstrip("/") + "/"):
            return filename[len(base.rstrip("/")) + 1 :]
    return os.path.basename(filename)


def write_issue(symptom: Symptom, package: str, key: str) -> str | None:
    """Title, blank line, body; at most ``MAX_ISSUE_CHARS`` characters, else None.

    ``package`` is a name with a version; ``key`` chooses the wording.
    """
    words = _words(symptom, package)
    choose = _chooser(key, words)
    parts = [
        choose(_OPENINGS["exception" if symptom.exception else "value"]),
        _code(symptom, choose(("prompt", "prompt", "fence"))),
        _traceback(symptom) if symptom.exception else choose(_RESULTS[_shape(words["got"])]),
        _closing(symptom, words, choose),
    ]
    text = choose(_titles(symptom, words)) + "\n\n" + "\n".join(part for part in parts if part)
    return text if len(text) <= MAX_ISSUE_CHARS else None


def _words(symptom: Symptom, package: str) -> dict[str, str]:
    """Values of the templates' fields. ``called`` is a function or, without one, the expression."""
    expression = _expression(symptom.statements[-1])
    called = _called(symptom.statements)
    subject = expression if expression and len(expression) <= _SUBJECT_CHARS else called or "this example"
    return {
        "package": package,
        "subject": f"`{subject}`" if subject != "this example" else subject,
        "called": f"`{called}`" if called else f"`{subject}`" if subject != "this example" else subject,
        "got": _block(symptom.got),
        "want": _block(symptom.want),
        "exception": symptom.exception or "",
        "message": _short(symptom.message, _SUBJECT_CHARS),
        "promised": symptom.promised_type,
        "promised_line": _short(symptom.promised, _MESSAGE_CHARS) or symptom.promised_type,
    }


def _chooser(key: str, words: dict[str, str]) -> Choose:
    """Picks templates by the key and fills them; each choice draws anew."""
    numbers = count(1)

    def choose(templates: Sequence[str]) -> str:
        drawn = hashlib.sha256(f"{key}:{next(numbers)}".encode()).digest()
        return templates[int.from_bytes(drawn[:4], "big") % len(templates)].format_map(words)

    return choose


def _titles(symptom: Symptom, words: dict[str, str]) -> Sequence[str]:
    if symptom.exception:
        if symptom.exception == symptom.promised_type:
            return _TITLES["other exception"]
        return _TITLES["exception"] if words["message"] else _TITLES["exception"][:4]
    if symptom.promised:
        return _TITLES["no exception"]
    if not words["got"]:
        return _TITLES["nothing"]
    short = all(_short(words[name], _TITLE_CHARS) for name in ("got", "want"))
    return _TITLES["value" if short and words["subject"] != "this example" else "long value"]


def _code(symptom: Symptom, style: str) -> str:
    lines = [*symptom.imports, *symptom.statements]
    if style == "prompt":
        return "\n".join(">>> " + statement.replace("\n", "\n... ") for statement in lines)
    return "```python\n" + "\n".join(lines) + "\n```"


def _shape(text: str) -> str:
    return "nothing" if not text else "lines" if "\n" in text else "one line"


def _traceback(symptom: Symptom) -> str:
    lines = ["Traceback (most recent call last):", *symptom.traceback] if symptom.traceback else []
    message = symptom.message.strip().split("\n")[0][:_MESSAGE_CHARS]
    return "\n".join([*lines, f"{symptom.exception}: {message}" if message else symptom.exception or ""])


def _closing(symptom: Symptom, words: dict[str, str], choose: Choose) -> str:
    if symptom.promised:
        return choose(_CLOSINGS["other exception" if symptom.exception == symptom.promised_type else "no exception"])
    shape = _shape(words["want"])
    if shape == "nothing":
        return ""
    return choose(_CLOSINGS[f"{shape} after exception" if symptom.exception else shape])


def _block(text: str) -> str:
    """Output as quoted: cut when long; several lines keep the first one's indentation."""
    text = text.replace("<BLANKLINE>", "").rstrip()
    shown = text if "\n" in text else text.strip()
    return shown if len(shown) <= MAX_SHOWN_CHARS else shown[:MAX_SHOWN_CHARS] + "..."


def _short(text: str, limit: int) -> str:
    """The text if it is one line of at most ``limit`` characters, else nothing."""
    text = text.strip()
    return text if "\n" not in text and len(text) <= limit else ""


def _expression(statement: str) -> str:
    """The statement when it is an expression on one line, without ``print`` around it."""
    try:
        body = ast.parse(statement).body
    except SyntaxError:
        return ""
    if len(body) != 1 or not isinstance(body[0], ast.Expr) or "\n" in statement.strip():
        return ""
    node = body[0].value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print" and len(node.args) == 1:
        node = node.args[0]
    return ast.get_source_segment(statement, node) or ""


def _called(statements: Sequence[str]) -> str:
    """The function that the last statement is about: its outermost call but for wrappers, or that of an earlier statement
    which made a name it uses."""
    try:
        trees = [ast.parse(statement) for statement in statements]
    except SyntaxError:
        return ""
    wanted = {node.id for node in ast.walk(trees[-1]) if isinstance(node, ast.Name)}
    for position, tree in enumerate(reversed(trees)):
        made = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        if position == 0 or made & wanted:
            for node in ast.walk(tree):
                name = _dotted(node.func) if isinstance(node, ast.Call) else ""
                if name and name not in _WRAPPERS:
                    return name
    return ""


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = _dotted(node.value)
        return f"{base}.{node.attr}" if base else node.attr
    return ""
