"""A package read and imported in this process: sources, functions, docstrings with examples, live function objects."""

from __future__ import annotations

import ast
import contextlib
import gc
import hashlib
import importlib
import sys
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from types import FunctionType
from typing import Any

from tasks.core.errors import DataError
from tasks.data.sources.synthetic import doctests
from tasks.data.sources.synthetic.mutations import Source, split_lines
from tasks.data.sources.synthetic.packages import Package, SourceFile, files_of
from tasks.data.sources.synthetic.patching import Key, live_functions
from tasks.data.sources.synthetic.tracing import Function, FunctionNode, outermost_functions

HEAVY_IMPORTS = frozenset(
    {"torch", "tensorflow", "matplotlib", "cupy", "jax", "IPython", "antigravity", "this", "tkinter", "turtle", "polars"}
)
CONVENTIONAL = {"np": "numpy", "pd": "pandas", "nx": "networkx"}


def digest(*parts: object) -> str:
    """Forty hex characters that depend on the parts alone: the only source of chance in mining."""
    return hashlib.sha1(
        "\0".join(str(part) for part in parts).encode("utf-8", "surrogatepass"), usedforsecurity=False
    ).hexdigest()


class Corpus:
    """What is known about one package before anything of it was run.

    ``sources`` by repository path; ``functions`` by entity; ``paths`` from file names on disk to repository paths.
    Raises :class:`DataError` when no module with a doctest can be imported.
    """

    def __init__(self, package: Package) -> None:
        self.package = package
        self.files = files_of(package)
        self.paths = {str(file.real): file.path for file in self.files}
        self.filenames = {file.path: str(file.real) for file in self.files}
        self.sources: dict[str, Source] = {}
        self.functions: dict[str, tuple[Function, FunctionNode]] = {}
        self.docstrings: list[doctests.Docstring] = []
        self.dropped: Counter[str] = Counter()
        self._committed: dict[str, Shortened] = {}
        for file in self.files:
            self._read(file)
        self._import_what_examples_import()
        if not self.docstrings:
            raise DataError(f"{package.repo}: no module with a doctest could be imported")
        self._live: dict[Key, list[FunctionType]] = live_functions(self.paths)
        gc.collect()
        gc.freeze()  # after live_functions, which sees no frozen objects

    def _read(self, file: SourceFile) -> None:
        if file.module is None or file.path.endswith("__main__.py"):
            return
        try:
            source = Source(file.real.read_bytes().decode("utf-8"))
        except (SyntaxError, ValueError):
            self.dropped["file not readable"] += 1
            return
        found = doctests.collect(source.tree, file.path, file.module)
        if (found or file.path.endswith("__init__.py")) and not self._import(file.module):
            return
        self.sources[file.path] = source
        self.docstrings += [docstring for docstring in found if not doctests.needs_display(docstring)]
        for function, node in outermost_functions(source.tree, file.path):
            self.functions.setdefault(function.entity, (function, node))

    def _import(self, module: str) -> bool:
        try:
            importlib.import_module(module)
        except BaseException:
            self.dropped["module not importable"] += 1
            return False
        return True

    def _import_what_examples_import(self) -> None:
        """So that not every child has to."""
        for name in doctests.imported_modules(self.docstrings):
            if name.split(".")[0] not in HEAVY_IMPORTS:
                with contextlib.suppress(BaseException):
                    importlib.import_module(name)

    def namespace(self, module: str) -> dict[str, Any]:
        """Names an example of ``module`` starts with: the module's own, and the conventional short ones."""
        names = dict(vars(sys.modules[module]))
        for alias, name in CONVENTIONAL.items():
            if name in sys.modules:
                names.setdefault(alias, sys.modules[name])
        return names

    def committed(self, path: str) -> Shortened:
        """A file's text as the repository holds it: with short docstrings where it is Python."""
        if path not in self._committed:
            text = Path(self.filenames[path]).read_bytes().decode("utf-8")
            python = path.endswith((".py", ".pyi"))
            try:
                self._committed[path] = shortened(text) if python else Shortened(text)
            except SyntaxError:
                self._committed[path] = Shortened(text)
        return self._committed[path]

    def live(self, function: Function) -> list[FunctionType]:
        """The function's objects in this process."""
        return self._live.get((self.filenames[function.path], function.name, function.start), [])


@dataclass(frozen=True)
class Shortened:
    """A source text without the bodies of its docstrings."""

    text: str
    _lasts: tuple[int, ...] = ()
    _removed: tuple[int, ...] = ()

    def line(self, original: int) -> int:
        """Where line ``original`` (1-based) of the full text stands now; lines inside a docstring map to its first."""
        return original - self._removed[bisect_right(self._lasts, original - 1)] if self._lasts else original


@lru_cache(maxsize=64)
def shortened(text: str) -> Shortened:
    """``text`` with every docstring of several lines replaced by its first line. Raises ``SyntaxError``.

    A package's docstrings hold the very examples the issues are made of: with them in the repository, searching for the
    example would find the place. A reader with little room also sees more code this way.
    """
    lines = split_lines(text)
    spans = sorted(span for span in map(_docstring, ast.walk(ast.parse(text))) if span)
    kept: list[str] = []
    position = 0
    for first, last, summary in spans:
        kept += [*lines[position : first - 1], summary]
        position = last
    removed = accumulate((last - first for first, last, _ in spans), initial=0)
    return Shortened("".join([*kept, *lines[position:]]), tuple(last for _, last, _ in spans), tuple(removed))


def _docstring(node: ast.AST) -> tuple[int, int, str] | None:
    """First and last line of a docstring that stands alone on several lines, and the line to put there."""
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or not node.body:
        return None
    first = node.body[0]
    if not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)):
        return None
    alone = first.lineno > getattr(node, "lineno", 0) and (len(node.body) == 1 or node.body[1].lineno > (first.end_lineno or 0))
    if not alone or first.end_lineno == first.lineno:
        return None
    text = first.value.value.strip().split("\n")[0].replace("\\", "").replace('"', "'").strip()
    return first.lineno, first.end_lineno or first.lineno, f'{" " * first.col_offset}"""{text or "..."}"""\n'
