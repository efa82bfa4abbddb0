"""Issue texts: what a user saw, in a user's words.

All facts come from running the reproducer: statements, output, expected output, traceback. The wording, one of the
templates in ``issues.json``, depends on the instance's key alone.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fusesearch.core.storage import read_json

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


@dataclass(frozen=True)
class TracebackEntry:
    """One printed frame: ``path`` relative to the repository or the installation, ``code`` the line's text."""

    path: str
    line: int
    name: str
    code: str


@dataclass(frozen=True)
class Symptom:
    """What happened. ``statements`` end with the one that went wrong.

    ``exception`` is the type raised, if any, with ``message``; ``promised`` is the exception that the documentation shows
    (``Type: message``), if any. Otherwise ``want`` is the documented output and ``got`` the real one.
    """

    imports: tuple[str, ...]
    statements: tuple[str, ...]
    want: str
    got: str
    exception: str | None = None
    message: str = ""
    promised: str = ""
    traceback: tuple[TracebackEntry, ...] = ()

    @property
    def promised_type(self) -> str:
        """Name of the promised exception."""
        return self.promised.split(":")[0].strip().split(".")[-1]


def write_issue(symptom: Symptom, package: str, key: str) -> str | None:
    """Title, blank line, body; at most ``MAX_ISSUE_CHARS`` characters, else None.

    ``package`` is a name with a version; ``key`` chooses the wording.
    """
    words = _words(symptom, package)
    choose = _Chooser(key, words)
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


class _Chooser:
    """Picks templates by the key and fills them."""

    def __init__(self, key: str, words: dict[str, str]) -> None:
        self._key = key
        self._words = words
        self._count = 0

    def __call__(self, templates: Sequence[str]) -> str:
        self._count += 1
        digest = hashlib.sha256(f"{self._key}:{self._count}".encode()).digest()
        return templates[int.from_bytes(digest[:4], "big") % len(templates)].format_map(self._words)


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
    lines = ["Traceback (most recent call last):"] if symptom.traceback else []
    for entry in symptom.traceback:
        lines.append(f'  File "{entry.path}", line {entry.line}, in {entry.name}')
        if entry.code:
            lines.append(f"    {entry.code}")
    message = symptom.message.strip().split("\n")[0][:_MESSAGE_CHARS]
    return "\n".join([*lines, f"{symptom.exception}: {message}" if message else symptom.exception or ""])


def _closing(symptom: Symptom, words: dict[str, str], choose: _Chooser) -> str:
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
