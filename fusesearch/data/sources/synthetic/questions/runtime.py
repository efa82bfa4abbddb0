"""What a package says of itself when it runs: the second route to each truth, beside its syntax.

Everything here runs in a child of the :class:`Sandbox`, so that importing all modules changes nothing for others.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from types import CodeType, FunctionType, ModuleType
from typing import Any

from fusesearch.data.sources.synthetic.corpus import HEAVY_IMPORTS, Corpus, future_flags
from fusesearch.data.sources.synthetic.sandbox import Sandbox

LITERALS = int | float | str
Name = tuple[str, str]
"""A module and a name in it."""


@dataclass
class Facts:
    """``places``: (path, qualified name, first line; 0 for a class) of what a name is. ``values``: the literals of a function's
    defaults, by module, name and parameter."""

    places: dict[Name, tuple[str, str, int]] = field(default_factory=dict)
    values: dict[tuple[str, str, str], str] = field(default_factory=dict)


def observe(corpus: Corpus, names: Iterable[Name], sandbox: Sandbox, seconds: float) -> Facts:
    """Import all modules and look at ``names``."""

    def run() -> Facts:
        facts = Facts()
        for file in corpus.files:
            if file.module and file.path in corpus.sources and file.module.split(".")[0] not in HEAVY_IMPORTS:
                with contextlib.suppress(BaseException):
                    importlib.import_module(file.module)
        for module, name in names:
            with contextlib.suppress(Exception):
                _look(corpus, facts, module, name, getattr(sys.modules[module], name))
        return facts

    return sandbox.run(run, seconds) or Facts()


def _look(corpus: Corpus, facts: Facts, module: str, name: str, thing: Any) -> None:
    if isinstance(thing, type):
        path = corpus.paths.get(getattr(sys.modules.get(thing.__module__), "__file__", None) or "")
        if path:
            facts.places[module, name] = (path, thing.__qualname__, 0)
        return
    inner = inspect.unwrap(thing)
    inner = getattr(inner, "orig_func", inner)  # what networkx's dispatcher calls the function
    if isinstance(inner, FunctionType) and inner.__code__.co_filename in corpus.paths:
        code = inner.__code__
        facts.places[module, name] = (corpus.paths[code.co_filename], code.co_qualname, code.co_firstlineno)
        for parameter in inspect.signature(thing).parameters.values():
            if isinstance(parameter.default, LITERALS) and not isinstance(parameter.default, bool):
                facts.values[module, name, parameter.name] = repr(parameter.default)


def altered_values(
    corpus: Corpus, module: str, path: str, text: str, wanted: Iterable[tuple[str, str]], sandbox: Sandbox, seconds: float
) -> dict[tuple[str, str], str]:
    """Run a module's altered text, and read defaults (function, parameter) from it."""

    def run() -> dict[tuple[str, str], str]:
        code = compile(text, corpus.filenames[path], "exec", flags=future_flags(corpus.sources[path].tree), dont_inherit=True)
        try:
            altered = _beside(importlib.import_module(module), code)
        except BaseException:  # what it registers may be registered already
            altered = _anew(module, corpus.filenames[path], code)
        found = {}
        for name, parameter in wanted:
            function = inspect.unwrap(getattr(altered, name))
            found[name, parameter] = repr(inspect.signature(function).parameters[parameter].default)
        return found

    return sandbox.run(run, seconds) or {}


def _beside(original: ModuleType, code: CodeType) -> ModuleType:
    """A second module beside the original one."""
    altered = ModuleType(original.__name__)
    kept = ("__package__", "__file__", "__path__", "__spec__", "__loader__")
    vars(altered).update({key: value for key, value in vars(original).items() if key in kept})
    exec(code, vars(altered))  # noqa: S102  that is what importing it does
    return altered


def _anew(module: str, filename: str, code: CodeType) -> ModuleType:
    """The module with its whole distribution imported again."""
    get_code = SourceFileLoader.get_code

    def altered(loader: Any, name: str) -> Any:
        return code if loader.path == filename else get_code(loader, name)

    SourceFileLoader.get_code = altered  # type: ignore[assignment, method-assign]
    top = module.partition(".")[0]
    for name in [name for name in sys.modules if name.partition(".")[0] == top]:
        del sys.modules[name]
    return importlib.import_module(module)
