"""A package read and imported in this process: sources, functions, docstrings with examples, live function objects."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib
import sys
from collections import Counter
from pathlib import Path
from types import FunctionType
from typing import Any

from tasks.core.errors import DataError
from tasks.data.sources.synthetic import doctests
from tasks.data.sources.synthetic.docstrings import Shortened, shortened
from tasks.data.sources.synthetic.mutations import Source
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
