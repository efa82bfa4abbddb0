"""Read doctest examples from source, cut them down to what one example needs, and run them.

The unit of testing and reporting is a *reproducer*: one example with an expected output, after only those earlier
examples of its docstring that set up the names it uses.
"""

from __future__ import annotations
import __future__

import ast
import doctest
import io
import os
import re
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MAX_REPRODUCER_LINES = 8
MAX_REPRODUCER_CHARS = 420
MAX_WANT_CHARS = 260
_HARNESS = os.path.dirname(__file__)
_CHECKER = doctest.OutputChecker()
_ADDRESS = re.compile(r"0x[0-9a-f]{8,16}")  # replaced in outputs, because it differs from run to run
_PRIVATE = re.compile(r"(?<![\w.\"'])_[a-zA-Z]\w*\(|import _[a-z]")
_DIRECTIVE = re.compile(r"\s*#.*doctest.*$", re.MULTILINE)
_UNSUITABLE_SOURCE = re.compile(
    r"\b(help|input|open|time|timeit|plot|show|getsize|id|dir|vars|globals|locals|urlopen|system|exit|quit|breakpoint|warn)\(|__doc__|%timeit"
)
_UNSUITABLE_WANT = re.compile(r"0x[0-9a-f]{4}|\bat 0x|Traceback.*File \"/|<BLANKLINE>\s*<BLANKLINE>", re.DOTALL)


@dataclass(frozen=True)
class Example:
    """One ``>>>`` statement: source and expected output (each ends with a newline), and doctest options."""

    source: str
    want: str
    exception: str | None
    options: int

    @property
    def shown(self) -> str:
        """The source as a person would type it, without doctest directives."""
        return _DIRECTIVE.sub("", self.source).rstrip()


@dataclass(frozen=True)
class Docstring:
    """The examples of one docstring. ``owner`` is ``path::Qualified.name`` or the path, ``module`` the import name."""

    owner: str
    module: str
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class Frame:
    """A traceback entry outside the example and this module."""

    filename: str
    line: int
    name: str


@dataclass(frozen=True)
class Outcome:
    """What one example did: ``got`` is its output; or the exception's type, message and frames."""

    passed: bool
    got: str = ""
    exception: str | None = None
    message: str = ""
    frames: tuple[Frame, ...] = ()


def collect(
    node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, owner: str, module: str
) -> Iterator[Docstring]:
    """Docstrings with examples of a module, its classes and functions, in source order."""
    if examples := _examples(ast.get_docstring(node, clean=False) or ""):
        yield Docstring(owner, module, examples)
    separator = "." if "::" in owner else "::"
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from collect(child, f"{owner}{separator}{child.name}", module)


def _examples(text: str) -> tuple[Example, ...]:
    try:
        found = doctest.DocTestParser().get_examples(text) if ">>>" in text else []
    except ValueError:
        return ()
    return tuple(Example(example.source, example.want, example.exc_msg, _options(example.options)) for example in found)


def _options(given: dict[int, bool]) -> int:
    value = OPTIONS
    for flag, on in given.items():
        value = value | flag if on else value & ~flag
    return value


def imported_modules(docstrings: Iterable[Docstring]) -> list[str]:
    """Modules the examples import, in order of appearance."""
    found: dict[str, None] = {}
    for example in (example for docstring in docstrings for example in docstring.examples if "import" in example.source):
        with suppress(SyntaxError, ValueError):
            for node in ast.walk(ast.parse(example.source)):
                if isinstance(node, ast.ImportFrom):
                    found.update({node.module: None} if node.module else {})
                elif isinstance(node, ast.Import):
                    found.update(dict.fromkeys(alias.name for alias in node.names))
    return list(found)


def needs_display(docstring: Docstring) -> bool:
    """Whether the docstring draws, which is slow and prints nothing."""
    return any("matplotlib" in example.source or "plt." in example.source for example in docstring.examples)


def uses_private_names(examples: Iterable[Example]) -> bool:
    """Whether a statement uses private names, which no user would."""
    return any(_PRIVATE.search(example.source) for example in examples)


def is_reportable(example: Example) -> bool:
    """Whether a failure of this example would make a readable report."""
    if not example.want or len(example.want) > MAX_WANT_CHARS or example.options & doctest.SKIP:
        return False
    return not _UNSUITABLE_SOURCE.search(example.source) and not _UNSUITABLE_WANT.search(example.want)


def reproducer(docstring: Docstring, index: int) -> tuple[Example, ...] | None:
    """The example and the earlier ones it needs, imports trimmed to the names used; None if too long or not parsable."""
    try:
        trees = [ast.parse(example.source) for example in docstring.examples[: index + 1]]
    except (SyntaxError, ValueError):
        return None
    needed = _names(trees[index], ast.Load)
    chosen = [docstring.examples[index]]
    for position in range(index - 1, -1, -1):
        example, tree = docstring.examples[position], trees[position]
        if not example.options & doctest.SKIP and _provides(tree, needed, bool(example.want)):
            chosen.append(_trimmed(example, tree, needed))
            needed -= _rebound(tree)
            needed |= _names(tree, ast.Load)
    lines = sum(example.source.count("\n") for example in chosen)
    chars = sum(len(example.source) for example in chosen)
    return None if lines > MAX_REPRODUCER_LINES or chars > MAX_REPRODUCER_CHARS else tuple(reversed(chosen))


def _names(tree: ast.AST, context: type[ast.expr_context]) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, context)}


def _rebound(tree: ast.Module) -> set[str]:
    """Names that a plain assignment or import sets without reading them: what set them before does not matter."""
    whole = len(tree.body) == 1 and isinstance(tree.body[0], ast.Assign | ast.Import | ast.ImportFrom)
    return bound_names(tree) - _names(tree, ast.Load) if whole else set()


def _provides(tree: ast.Module, needed: set[str], prints: bool) -> bool:
    bound = bound_names(tree)
    sets_attribute = any(
        isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) for node in ast.walk(tree)
    )  # mp.dps = 15
    return bool(bound & needed) or "*" in bound or sets_attribute or (not prints and bool(_touched(tree) & needed))


def bound_names(tree: ast.AST) -> set[str]:
    """Names a statement binds: assignments, imports (``*`` for a star import), functions and classes."""
    bound = _names(tree, ast.Store)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.add(node.name)
    return bound


def _touched(tree: ast.Module) -> set[str]:
    """Names whose object a statement may change: ``G.add_edge(1, 2)``, ``d["k"] = 1``, ``del d["k"]``, ``random.seed(3)``."""
    roots: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(tree.body[0], ast.Expr | ast.For | ast.With):
            roots |= {_root(argument) for argument in node.args}
            if isinstance(node.func, ast.Attribute):
                roots.add(_root(node.func))
        elif isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            roots.add(_root(node))
    return roots - {""}


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _trimmed(example: Example, tree: ast.Module, needed: set[str]) -> Example:
    statement = tree.body[0] if len(tree.body) == 1 else None
    if not isinstance(statement, ast.ImportFrom | ast.Import) or len(statement.names) == 1:
        return example
    kept = [alias for alias in statement.names if (alias.asname or alias.name).split(".")[0] in needed]
    statement.names = kept or statement.names
    return Example(ast.unparse(statement) + "\n", example.want, example.exception, example.options)


def run_examples(examples: Sequence[Example], names: dict[str, Any]) -> list[Outcome]:
    """Run examples in order in one namespace, up to the first that fails."""
    outcomes = []
    for example in examples:
        outcomes.append(run_example(example, names))
        if not outcomes[-1].passed:
            break
    return outcomes


def run_example(example: Example, names: dict[str, Any]) -> Outcome:
    """Run one example and compare its output or exception with what its docstring expects."""
    output = io.StringIO()
    saved, sys.stdout = sys.stdout, output
    sys.displayhook = sys.__displayhook__
    try:
        exec(compile(example.source, "<example>", "single", _future_flags(names), dont_inherit=True), names)  # noqa: S102  that is what a doctest is
    except BaseException as error:
        return _raised(example, error)
    finally:
        sys.stdout = saved
    got = output.getvalue()
    skipped = not example.want and example.options & doctest.SKIP
    passed = example.exception is None and (bool(skipped) or _CHECKER.check_output(example.want, got, example.options))
    return Outcome(passed, _ADDRESS.sub("0x...", got))


def _future_flags(names: dict[str, Any]) -> int:
    flags = 0
    for name in __future__.all_feature_names:
        feature: Any = getattr(__future__, name)
        if feature is not None and names.get(name) is feature:
            flags |= int(getattr(feature, "compiler_flag", 0))
    return flags


def _raised(example: Example, error: BaseException) -> Outcome:
    text = traceback.format_exception_only(type(error), error)[-1]
    passed = example.exception is not None and (
        _CHECKER.check_output(example.exception, text, example.options) or example.exception.split(":")[0].strip() == "Traceback"
    )
    frames = tuple(
        Frame(entry.filename, entry.lineno or 0, entry.name)
        for entry in traceback.extract_tb(error.__traceback__, limit=-12)
        if not entry.filename.startswith("<") and os.path.dirname(entry.filename) != _HARNESS
    )
    message = ""
    with suppress(Exception):  # an exception may not know its text
        message = str(error)
    return Outcome(passed, _ADDRESS.sub("0x...", text), type(error).__name__, _ADDRESS.sub("0x...", message), frames)
