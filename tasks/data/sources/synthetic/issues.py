"""Issue texts: what a user saw, in a user's words.

Everything in them comes from running the reproducer: the statements, the output, the expected output, the traceback.
Wordings vary with the instance; the same instance always gets the same text.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

MAX_ISSUE_CHARS = 900
MAX_SHOWN_CHARS = 240
_SHORT = 44


@dataclass(frozen=True)
class TracebackEntry:
    """One frame as shown: ``path`` relative to the repository or the installation, ``code`` the line's text."""

    path: str
    line: int
    name: str
    code: str


@dataclass(frozen=True)
class Symptom:
    """What happened. ``statements`` end with the one that went wrong; ``want`` is empty when it should print nothing.

    ``exception`` is the type raised, if any; ``wanted_exception`` the one its documentation promises, if any.
    """

    imports: tuple[str, ...]
    statements: tuple[str, ...]
    want: str
    got: str
    exception: str | None = None
    message: str = ""
    wanted_exception: str | None = None
    traceback: tuple[TracebackEntry, ...] = ()


def write_issue(symptom: Symptom, package: str, version: str, key: str) -> str | None:
    """Title, blank line, body; at most ``MAX_ISSUE_CHARS`` characters, else None. ``key`` chooses the wording."""
    choose = _Chooser(key)
    title = _title(symptom, choose)
    parts = [
        _opening(symptom, choose, package, version),
        _code(symptom, choose),
        _result(symptom, choose),
        _closing(symptom, choose),
    ]
    text = f"{title}\n\n" + "\n".join(part for part in parts if part)
    return text if len(text) <= MAX_ISSUE_CHARS else None


class _Chooser:
    """Picks among wordings, the same way for the same key."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._count = 0

    def __call__(self, options: Sequence[str]) -> str:
        self._count += 1
        digest = hashlib.sha256(f"{self._key}:{self._count}".encode()).digest()
        return options[int.from_bytes(digest[:4], "big") % len(options)]


def _title(symptom: Symptom, choose: _Chooser) -> str:
    expression, called = _expression(symptom.statements[-1]), _called(symptom.statements[-1])
    got, want = _inline(symptom.got), _inline(symptom.want)
    subject = f"`{expression}`" if expression and len(expression) <= 60 else ""
    if symptom.exception:
        return choose(_exception_titles(symptom, subject, called))
    if symptom.wanted_exception:
        return choose(_missing_exception_titles(symptom.wanted_exception, subject, called))
    if not symptom.got.strip():
        return choose(
            [
                f"{subject or called} returns nothing",
                f"No result from {subject or called}",
                f"{subject or called}: expected a result, got None",
            ]
        )
    if subject and got and want:
        return choose([f"{subject} returns {got} instead of {want}", f"{subject} gives {got}, expected {want}", f"Wrong result from {subject}",
                       f"{subject} should be {want}, not {got}", f"{called}: got {got}, should be {want}", f"{called} returns wrong result"])  # fmt: skip
    return choose([f"Wrong result from {called}", f"{called} returns a wrong result", f"Incorrect output of {subject or called}", f"{called} seems broken",
                   f"Unexpected result with {called}", f"Bug in {called}?"])  # fmt: skip


def _exception_titles(symptom: Symptom, subject: str, called: str) -> list[str]:
    name = symptom.exception or ""
    message = _inline(symptom.message, 60)
    titles = [
        f"{name} from {subject or called}",
        f"{called} raises {name}",
        f"Unexpected {name} in {called}",
        f"{subject or called} fails with {name}",
    ]
    if message:
        titles += [f"{name}: {message}", f"{called} crashes: {name}: {message}"]
    return titles


def _missing_exception_titles(wanted: str, subject: str, called: str) -> list[str]:
    return [
        f"{subject or called} does not raise {wanted}",
        f"{called} should raise {wanted}",
        f"Missing {wanted} from {called}",
        f"No {wanted} for {subject or called}",
    ]


def _opening(symptom: Symptom, choose: _Chooser, package: str, version: str) -> str:
    name = f"{package} {version}"
    if symptom.exception:
        return choose(
            [
                "",
                "",
                "This fails:",
                f"With {name} this crashes:",
                "To reproduce:",
                "I get an error from the following:",
                "This used to work:",
            ]
        )
    return choose(
        [
            "",
            "",
            "To reproduce:",
            f"With {name}:",
            "The following gives a wrong answer:",
            "Example:",
            "I noticed this today:",
            f"Using {name}, I ran",
        ]
    )


def _code(symptom: Symptom, choose: _Chooser) -> str:
    lines = [*symptom.imports, *symptom.statements]
    style = choose(["prompt", "prompt", "fence"])
    if style == "prompt":
        return "\n".join(_prompted(statement) for statement in lines)
    return "```python\n" + "\n".join(lines) + "\n```"


def _prompted(statement: str) -> str:
    first, *rest = statement.split("\n")
    return "\n".join([f">>> {first}", *(f"... {line}" for line in rest)])


def _result(symptom: Symptom, choose: _Chooser) -> str:
    if symptom.exception:
        return _traceback(symptom)
    got = _block(symptom.got)
    if not got:
        return choose(["prints nothing.", "There is no output.", "The result is None."])
    if "\n" in got:
        return choose(["prints", "gives", "Output:", "Result:"]) + "\n" + got
    return choose([got, f"gives {got}", f"Output: {got}", f"returns {got}", f"I get {got}"])


def _traceback(symptom: Symptom) -> str:
    lines = ["Traceback (most recent call last):"] if symptom.traceback else []
    for entry in symptom.traceback:
        lines.append(f'  File "{entry.path}", line {entry.line}, in {entry.name}')
        if entry.code:
            lines.append(f"    {entry.code}")
    message = _inline(symptom.message, 160)
    return "\n".join([*lines, f"{symptom.exception}: {message}" if message else symptom.exception or ""])


def _closing(symptom: Symptom, choose: _Chooser) -> str:
    if symptom.wanted_exception:
        return choose(
            [
                f"It should raise {symptom.wanted_exception}.",
                f"I expected {symptom.wanted_exception}.",
                f"Expected: {symptom.wanted_exception}",
            ]
        )
    want = _block(symptom.want)
    if not want:
        return choose(["", "", "It should just work.", "No error expected here."])
    if "\n" in want:
        return choose(["Expected:", "but it should be", "The documentation says", "It should print", "I expected"]) + "\n" + want
    if symptom.exception:
        return choose(
            [f"Expected {want}", f"It should return {want}", f"The documentation says {want}", f"Expected output: {want}"]
        )
    return choose([f"Expected {want}", f"but it should be {want}", f"It should be {want}", f"The documentation says {want}", f"Correct would be {want}",
                   f"I expected {want}"])  # fmt: skip


def _block(text: str) -> str:
    text = text.rstrip("\n")
    shown = text if text.startswith(" ") and "\n" in text else text.strip()
    shown = shown.replace("<BLANKLINE>", "")
    return shown if len(shown) <= MAX_SHOWN_CHARS else shown[:MAX_SHOWN_CHARS] + "..."


def _inline(text: str, limit: int = _SHORT) -> str:
    text = text.strip()
    return text if "\n" not in text and len(text) <= limit else ""


def _expression(statement: str) -> str:
    """The statement when it is one line, without ``print`` around it."""
    node = _only_expression(statement)
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
        and len(node.args) == 1
        and not node.keywords
    ):
        return ast.get_source_segment(statement, node.args[0]) or statement
    return statement.strip() if node is not None and "\n" not in statement else ""


def _only_expression(statement: str) -> ast.expr | None:
    try:
        body = ast.parse(statement).body
    except SyntaxError:
        return None
    return body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr) else None


def _called(statement: str) -> str:
    """What the statement is about: the outermost call that is not just a wrapper, or "this example"."""
    try:
        calls = [node for node in ast.walk(ast.parse(statement)) if isinstance(node, ast.Call)]
    except SyntaxError:
        calls = []
    for call in calls:
        name = _dotted(call.func)
        if name and name not in _WRAPPERS:
            return f"`{name}`"
    return "this example"


_WRAPPERS = frozenset({"print", "list", "sorted", "tuple", "set", "dict", "str", "repr", "len", "sum", "pprint", "round", "next", "type", "isinstance", "bool",
                       "float", "int", "max", "min", "iter", "frozenset", "pretty_print", "any", "all", "zip", "range", "enumerate"})  # fmt: skip


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = _dotted(node.value)
        return f"{base}.{node.attr}" if base else node.attr
    return ""
