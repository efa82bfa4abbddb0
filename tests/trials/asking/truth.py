"""What the running package says: defaults by ``inspect``, values by ``getattr``, classes by ``__mro__``, calls by bytecode."""

from __future__ import annotations

import ast
import contextlib
import dis
import importlib
import importlib.util
import inspect
import io
import pkgutil
import random
import sys
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

PLAIN = (bool, int, float, str, bytes, tuple, list, dict, set, frozenset, type(None))


@dataclass
class Question:
    """A question with its names, and the truth: entities, or ``value`` of the expression that the answer is in ``module``."""

    family: str
    names: dict[str, str]
    entities: set[str] = field(default_factory=set)
    value: Any = None
    module: str = ""


@dataclass(eq=False)
class Package:
    """The imported modules of a package below ``root``, and their functions and classes."""

    name: str

    def __post_init__(self) -> None:
        self.top = importlib.import_module(self.name)
        self.folder = Path(self.top.__file__ or "").parent
        self.modules = {}
        self.modules = {module.__name__: module for module in self._imported()}
        classes = (item for module in self.modules.values() for item in _classes(module, module.__name__))
        self.classes = list(dict.fromkeys(filter(self._found, classes)))

    def path_of(self, module: str) -> str:
        """The module's file, relative to the folder above the package."""
        file = Path(self.modules[module].__file__ or "")
        return str(file.relative_to(self.folder.parent))

    def entity(self, item: Any) -> str:
        """``path::Qualified.name`` of a function or class."""
        return f"{self.path_of(item.__module__)}::{item.__qualname__}"

    def _imported(self) -> Iterator[types.ModuleType]:
        yield self.top
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            for found in pkgutil.walk_packages([str(self.folder)], f"{self.name}.", onerror=lambda _: None):
                if {"tests", "testing", "__main__", "conftest", "_testing"} & set(found.name.split(".")):
                    continue
                try:
                    module = importlib.import_module(found.name)
                except BaseException:
                    continue
                if (getattr(module, "__file__", None) or "").endswith(".py"):
                    yield module

    @cache  # noqa: B019 - as long as the program
    def _compiled(self, module: str) -> set[str]:
        """The qualified names of classes and functions in a module's file."""
        file = getattr(self.modules.get(module), "__file__", None)
        pending = [compile(Path(file).read_bytes(), file, "exec", dont_inherit=True)] if file else []
        names: set[str] = set()
        while pending:
            code = pending.pop()
            names.add(code.co_qualname)
            pending += [inner for inner in code.co_consts if isinstance(inner, types.CodeType)]
        return names

    def _found(self, item: Any) -> bool:
        found: Any = self.modules.get(item.__module__)
        if str(item.__qualname__) not in self._compiled(str(item.__module__)):
            return False  # a module that its package renamed
        for part in str(item.__qualname__).split("."):
            found = getattr(found, "__dict__", {}).get(part)
        return found is item or inspect.unwrap(found) is item if callable(found) else False

    def questions(self, each: int, seed: int = 0) -> list[Question]:
        """``each`` questions of every family, drawn by the seed."""
        families = (self.default, self.value, self.exported, self.inherited, self.overrides, self.subclasses, self.callers)
        drawn: list[Question] = []
        for family in families:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                known = {str(sorted(question.names.items())): question for question in family()}
            found = [known[key] for key in sorted(known)]
            drawn += random.Random(f"{seed} {self.name} {family.__name__}").sample(found, min(each, len(found)))
        return drawn

    def default(self) -> Iterator[Question]:
        """Parameters with defaults of functions, methods and classes."""
        functions = [
            item for module in self.modules.values() for item in list(vars(module).values())
            if inspect.isfunction(item) and item.__module__ == module.__name__ and "<" not in item.__qualname__
        ]  # fmt: skip
        methods = [item for kind in self.classes for item in vars(kind).values() if inspect.isfunction(item)]
        methods = [item for item in methods if item.__module__ in self.modules and "<" not in item.__qualname__]
        items: list[Any] = [*functions, *methods, *self.classes]
        for item in items:
            with contextlib.suppress(ValueError, TypeError, NameError):
                for name, parameter in inspect.signature(item).parameters.items():
                    if parameter.default is not parameter.empty and isinstance(parameter.default, PLAIN):
                        names = {"name": f"{item.__module__}.{item.__qualname__}", "parameter": name}
                        yield Question("default", names, value=parameter.default, module=item.__module__)

    def value(self) -> Iterator[Question]:
        """Constants of modules."""
        for module in self.modules.values():
            for name, item in list(vars(module).items()):
                if name.isupper() and name != "TYPE_CHECKING" and isinstance(item, PLAIN):
                    yield Question("value", {"name": f"{module.__name__}.{name}"}, value=item, module=module.__name__)

    def exported(self) -> Iterator[Question]:
        """Functions and classes under names of other modules than their own."""
        for module in self.modules.values():
            for name, item in list(vars(module).items()):
                if not isinstance(item, types.FunctionType | type) or item.__module__ not in self.modules:
                    continue
                item = inspect.unwrap(item)
                if item.__module__ not in self.modules or not self._found(item):
                    continue
                with contextlib.suppress(OSError, TypeError):
                    file = Path(inspect.getsourcefile(item) or "").relative_to(self.folder.parent)
                    yield Question("exported", {"name": f"{module.__name__}.{name}"}, {f"{file}::{item.__qualname__}"})

    def inherited(self) -> Iterator[Question]:
        """Methods that a class has from another one."""
        for kind in self.classes:
            for base in kind.__mro__[1:]:
                for name, item in vars(base).items():
                    first = next(one for one in kind.__mro__ if name in vars(one))
                    if (
                        first is base
                        and inspect.isfunction(item)
                        and base in self.classes
                        and item.__qualname__ == f"{base.__qualname__}.{name}"
                    ):
                        names = {"name": f"{kind.__module__}.{kind.__qualname__}", "method": name}
                        yield Question("inherited", names, {f"{self.entity(base)}.{name}"})

    def overrides(self) -> Iterator[Question]:
        """Subclasses with a method of their own."""
        for kind in self.classes:
            below = [one for one in self.classes if one is not kind and kind in one.__mro__]
            for name, item in vars(kind).items():
                if inspect.isfunction(item) and not name.startswith("__") and below:
                    own = {self.entity(one) for one in below if name in vars(one)}
                    yield Question("overrides", {"name": f"{kind.__module__}.{kind.__qualname__}", "method": name}, own)

    def subclasses(self) -> Iterator[Question]:
        """Subclasses, direct or not."""
        for kind in self.classes:
            below = {self.entity(one) for one in self.classes if one is not kind and kind in one.__mro__}
            if below:
                yield Question("subclasses", {"name": f"{kind.__module__}.{kind.__qualname__}"}, below)

    def callers(self) -> Iterator[Question]:
        """Functions that call a function of a module, by what the global names of the bytecode are at run time."""
        calls: dict[Any, set[str]] = {}
        for module in self.modules.values():
            path = self.path_of(module.__name__)
            with contextlib.suppress(OSError, SyntaxError, ValueError):
                code = compile(Path(module.__file__ or "").read_text("utf-8"), path, "exec", dont_inherit=True)
                for inner in _functions(code):
                    holder = inner.co_qualname.partition(".<locals>")[0]
                    for item in _called(inner, vars(module)):
                        if inspect.isfunction(item) and item.__module__ in self.modules and "<" not in item.__qualname__:
                            calls.setdefault(item, set()).add(f"{path}::{holder}")
        item: Any
        for item, holders in calls.items():
            if vars(self.modules[item.__module__]).get(item.__name__) is item:
                entity = f"{self.path_of(item.__module__)}::{item.__qualname__}"
                yield Question("callers", {"name": f"{item.__module__}.{item.__qualname__}"}, holders - {entity})


def _classes(holder: Any, module: str) -> Iterator[type]:
    """Classes of a module, also those in classes."""
    above = f"{holder.__qualname__}." if isinstance(holder, type) else ""
    for item in list(vars(holder).values()):
        if isinstance(item, type) and item.__module__ == module and item.__qualname__ == above + item.__name__:
            yield item
            yield from _classes(item, module)


def _functions(code: types.CodeType) -> Iterator[types.CodeType]:
    """Code objects of functions, also in classes and functions."""
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            if inner.co_flags & inspect.CO_OPTIMIZED and not inner.co_qualname.startswith("<"):
                yield inner
            yield from _functions(inner)


def _called(code: types.CodeType, names: dict[str, Any]) -> Iterator[Any]:
    """Objects that a code object calls by a global name, or by one of an imported module."""
    owner: Any = None
    item: Any = None
    called = False
    source, imported, previous = "", dict[str, Any](), list[Any]()
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME":
            level = previous[-2] if len(previous) > 1 and isinstance(previous[-2], int) else 0
            with contextlib.suppress(ImportError, TypeError, ValueError):
                source = importlib.util.resolve_name("." * level + step.argval, names.get("__package__"))
        elif step.opname == "IMPORT_FROM":
            item = getattr(sys.modules.get(source), step.argval, sys.modules.get(f"{source}.{step.argval}"))
        elif step.opname in ("STORE_FAST", "STORE_DEREF") and item is not None:
            imported[step.argval] = item
            item = None
        elif step.opname in ("LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE") and step.argval in imported:
            owner = imported[step.argval]
            if previous[-1:] == ["PUSH_NULL"]:
                yield owner
        elif step.opname == "LOAD_GLOBAL":
            owner = names.get(step.argval)
            called = bool(step.arg is not None and step.arg & 1)
            if called:
                yield owner
        elif step.opname == "LOAD_METHOD" and isinstance(owner, types.ModuleType):
            yield vars(owner).get(step.argval)
            owner = None
        elif step.opname == "LOAD_ATTR" and isinstance(owner, types.ModuleType):
            owner = vars(owner).get(step.argval)
            if called:
                yield owner
        elif step.opname not in ("CACHE", "PUSH_NULL"):
            owner = None
        if step.opname not in ("CACHE", "PRECALL"):
            previous = [*previous[-2:], step.argval if step.opname == "LOAD_CONST" else step.opname]


def equal(answer: str, question: Question, module: str) -> bool | None:
    """Whether an answer is a literal, or a name of the module that it is from, with the true value; None if it is neither."""
    try:
        found = ast.literal_eval(answer)
    except (ValueError, SyntaxError):
        try:
            found = attrgetter(answer)(sys.modules[module])
        except AttributeError:
            return None
    return type(found) is type(question.value) and (found == question.value or found is question.value)
