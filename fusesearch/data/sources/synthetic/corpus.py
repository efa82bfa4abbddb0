"""A package read and imported in this process: sources, functions, examples, and live functions that can be changed."""

from __future__ import annotations
import __future__

import ast
import contextlib
import gc
import hashlib
import importlib
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from fusesearch.core.errors import DataError
from fusesearch.data.sources.synthetic import doctests
from fusesearch.data.sources.synthetic.edits import FunctionNode, Source, split_lines
from fusesearch.data.sources.synthetic.packages import Package, SourceFile, files_of

HEAVY_IMPORTS = frozenset(
    {"torch", "tensorflow", "matplotlib", "cupy", "jax", "IPython", "antigravity", "this", "tkinter", "turtle", "polars"}
)
CONVENTIONAL = {"np": "numpy", "pd": "pandas", "nx": "networkx"}

Key = tuple[str, str, int]


def digest(*parts: object) -> str:
    """Forty hex characters of the parts: the only source of chance in mining."""
    return hashlib.sha1(
        "\0".join(str(part) for part in parts).encode("utf-8", "surrogatepass"), usedforsecurity=False
    ).hexdigest()


@dataclass(frozen=True)
class Function:
    """An outermost function of a file: ``name`` with its classes, 1-based lines; ``start`` includes decorators."""

    path: str
    name: str
    start: int
    end: int

    @cached_property
    def entity(self) -> str:
        """``path::Qualified.name``."""
        return f"{self.path}::{self.name}"


def outermost_functions(node: ast.AST, path: str, prefix: str = "") -> Iterator[tuple[Function, FunctionNode]]:
    """Functions and methods at module or class level (also inside ``if`` and ``try`` there), in source order."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FunctionNode):
            start = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
            yield Function(path, prefix + child.name, start, child.end_lineno or child.lineno), child
        elif isinstance(child, ast.ClassDef):
            yield from outermost_functions(child, path, f"{prefix}{child.name}.")
        elif isinstance(child, ast.If | ast.Try | ast.With | ast.ExceptHandler | ast.For | ast.While):
            yield from outermost_functions(child, path, prefix)


def live_functions(filenames: Iterable[str]) -> dict[Key, list[FunctionType]]:
    """Function objects of the given files by (filename, qualified name, first line), wrapped ones too."""
    wanted = set(filenames)
    found: dict[Key, list[FunctionType]] = {}
    for thing in gc.get_objects():
        if type(thing) is FunctionType and thing.__code__.co_filename in wanted:
            code = thing.__code__
            found.setdefault((code.co_filename, code.co_qualname, code.co_firstlineno), []).append(thing)
    return found


class Corpus:
    """One package before any of its examples ran.

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
        for name in doctests.imported_modules(self.docstrings):  # here, so that each child need not
            if name.split(".")[0] not in HEAVY_IMPORTS:
                with contextlib.suppress(BaseException):
                    importlib.import_module(name)
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
        found = list(doctests.collect(source.tree, file.path, file.module))
        if found or file.path.endswith("__init__.py"):
            try:
                importlib.import_module(file.module)
            except BaseException:  # a module may exit
                self.dropped["module not importable"] += 1
                return
        self.sources[file.path] = source
        self.docstrings += [docstring for docstring in found if not doctests.needs_display(docstring)]
        for function, node in outermost_functions(source.tree, file.path):
            self.functions.setdefault(function.entity, (function, node))

    def namespace(self, module: str) -> dict[str, Any]:
        """Names an example of ``module`` starts with: the module's own and the usual short ones."""
        names = dict(vars(sys.modules[module]))
        for alias, name in CONVENTIONAL.items():
            if name in sys.modules:
                names.setdefault(alias, sys.modules[name])
        return names

    def committed(self, path: str) -> Shortened:
        """A file's text as committed; docstrings of Python files are shortened."""
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
        """New number of line ``original`` (1-based) of the full text; lines inside a docstring map to its first."""
        return original - self._removed[bisect_right(self._lasts, original - 1)] if self._lasts else original


@lru_cache(maxsize=64)
def shortened(text: str) -> Shortened:
    """``text`` with every docstring of several lines replaced by its first line. Raises ``SyntaxError``.

    Docstrings hold the examples that issues quote: if they stayed, a search for the example would find the fault. It also
    leaves a model more room for code.
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
    """First and last line of a docstring that fills several lines alone, and the line that replaces them."""
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


class NotPatchable(Exception):
    """The mutated function cannot replace the live one: it captures other variables or was not found."""


def future_flags(tree: ast.Module) -> int:
    """Compiler flags of the module's ``from __future__`` imports."""
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    features = {getattr(__future__, alias.name, None) for node in imports for alias in node.names}
    return sum(feature.compiler_flag for feature in features if feature is not None)


def mutated_node(text: str, function: Function, lines_added: int) -> FunctionNode:
    """The function's tree in the mutated file, with that file's line numbers. Raises ``SyntaxError``."""
    lines = split_lines(text)[function.start - 1 : function.end + lines_added]
    if lines[0][:1].isspace():
        holder = ast.parse("\n" * (function.start - 2) + "if 1:\n" + "".join(lines)).body[0]
        node = holder.body[0]  # type: ignore[attr-defined]
    else:
        node = ast.parse("\n" * (function.start - 1) + "".join(lines)).body[0]
    if not isinstance(node, FunctionNode):
        raise SyntaxError("not a function")
    return node


def compiled(node: FunctionNode, function: Function, filename: str, flags: int) -> CodeType:
    """Code of the function alone, as if compiled inside its classes. Raises :class:`NotPatchable`."""
    statement: ast.stmt = node
    for name in reversed(function.name.split(".")[:-1]):
        statement = ast.ClassDef(name=name, bases=[], keywords=[], body=[statement], decorator_list=[])
        setattr(statement, "type_params", [])  # noqa: B010  Python 3.12 requires it, the stubs for 3.11 lack it
    module = ast.fix_missing_locations(ast.Module(body=[statement], type_ignores=[]))
    code: CodeType | None = compile(module, filename, "exec", flags=flags, dont_inherit=True)
    for name in function.name.split("."):
        code = next((c for c in (code.co_consts if code else ()) if isinstance(c, CodeType) and c.co_name == name), None)
    if code is None:
        raise NotPatchable(function.entity)
    return code


def replace_function(functions: list[FunctionType], code: CodeType, node: FunctionNode) -> None:
    """Give live functions the new code and constant defaults. Raises :class:`NotPatchable`."""
    if not functions or any(f.__code__.co_freevars != code.co_freevars for f in functions):
        raise NotPatchable(code.co_qualname)
    named = {
        argument.arg: default.value
        for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if isinstance(default, ast.Constant)
    }
    for function in functions:
        function.__code__ = code
        old = function.__defaults__
        if old is not None and len(old) == len(node.args.defaults):
            pairs = zip(old, node.args.defaults, strict=True)
            function.__defaults__ = tuple(new.value if isinstance(new, ast.Constant) else value for value, new in pairs)
        if function.__kwdefaults__:
            function.__kwdefaults__ = {name: named.get(name, value) for name, value in function.__kwdefaults__.items()}
