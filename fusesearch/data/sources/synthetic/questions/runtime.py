"""What a package says of itself when it runs: the second route to each truth, beside its syntax.

Everything here runs in a child of the :class:`Sandbox`, so that importing all modules changes nothing for others.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.machinery import SourceFileLoader
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from fusesearch.data.sources.synthetic import doctests
from fusesearch.data.sources.synthetic.corpus import HEAVY_IMPORTS, Corpus, digest, future_flags
from fusesearch.data.sources.synthetic.recording import MAX_EVENTS_OF_EXAMPLE, BudgetSpent, Recorder
from fusesearch.data.sources.synthetic.sandbox import Sandbox, violations

EVENTS_OF_DOCSTRING = 100_000
SECONDS_OF_DOCSTRING = 60.0
LITERALS = int | float | str
Name = tuple[str, str]
"""A module and a name in it."""


@dataclass
class Facts:
    """``places``: (path, qualified name, first line; 0 for a class) of what a name is. ``values``: its literal, or those of a
    function's defaults by parameter. ``methods``: the path, class and own methods of each class, and its bases in the order of
    method look-up, all of this package."""

    places: dict[Name, tuple[str, str, int]] = field(default_factory=dict)
    values: dict[tuple[str, str, str], str] = field(default_factory=dict)
    methods: dict[str, frozenset[str]] = field(default_factory=dict)
    lookup: dict[str, list[str]] = field(default_factory=dict)


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
        for cls in _subclasses(object):
            if (entity := _class_entity(corpus, cls)) and entity not in facts.methods:
                facts.methods[entity] = frozenset(vars(cls))
                facts.lookup[entity] = [found for base in cls.__mro__ if (found := _class_entity(corpus, base))]
        return facts

    return sandbox.run(run, seconds) or Facts()


def _look(corpus: Corpus, facts: Facts, module: str, name: str, thing: Any) -> None:
    if isinstance(thing, LITERALS) and not isinstance(thing, bool):
        facts.values[module, name, ""] = repr(thing)
        return
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


def _subclasses(cls: type) -> list[type]:
    found: dict[int, type] = {}
    pending = [cls]
    child: type
    while pending:
        with contextlib.suppress(Exception):  # the metaclass of some classes refuses
            for child in type.__subclasses__(pending.pop()):
                if id(child) not in found:
                    found[id(child)] = child
                    pending.append(child)
    return list(found.values())


def _class_entity(corpus: Corpus, cls: type) -> str | None:
    module = sys.modules.get(cls.__module__) if isinstance(cls.__module__, str) else None
    path = corpus.paths.get(getattr(module, "__file__", None) or "")
    return f"{path}::{cls.__qualname__}" if path else None


def altered_values(
    corpus: Corpus, module: str, path: str, text: str, wanted: Iterable[tuple[str, str]], sandbox: Sandbox, seconds: float
) -> dict[tuple[str, str], str]:
    """Run a module's altered text, and read constants (name, "") and defaults (function, parameter) from it."""

    def run() -> dict[tuple[str, str], str]:
        code = compile(text, corpus.filenames[path], "exec", flags=future_flags(corpus.sources[path].tree), dont_inherit=True)
        try:
            altered = _beside(importlib.import_module(module), code)
        except BaseException:  # what it registers may be registered already
            altered = _anew(module, corpus.filenames[path], code)
        found = {}
        for name, parameter in wanted:
            thing = getattr(altered, name)
            if parameter:
                thing = inspect.signature(inspect.unwrap(thing)).parameters[parameter].default
            found[name, parameter] = repr(thing)
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


def callers(corpus: Corpus, seed: int, sandbox: Sandbox, docstrings: int, share: float) -> dict[str, set[str]]:
    """Functions seen to call each function while ``docstrings`` docstrings run; stops at a share of the sandbox's budget."""
    finder = Recorder(corpus.paths, [function for function, _ in corpus.functions.values()], 0)
    found: dict[str, set[str]] = {}
    chosen = sorted(corpus.docstrings, key=lambda docstring: digest(seed, "docstring", docstring.owner))[:docstrings]
    for docstring in chosen:
        if sandbox.spent(share):
            break
        for caller, callee in sandbox.run(partial(_pairs, corpus, finder, docstring), SECONDS_OF_DOCSTRING) or ():
            found.setdefault(callee, set()).add(caller)
    return found


def _pairs(corpus: Corpus, finder: Recorder, docstring: doctests.Docstring) -> set[tuple[str, str]]:
    pairs: set[tuple[str, str]] = set()
    events = 0

    def entered(frame: FrameType, event: str, _: Any) -> None:
        nonlocal events
        if event != "call":
            return
        events += 1
        if events > EVENTS_OF_DOCSTRING:
            raise BudgetSpent
        callee = finder.function_of(frame.f_code)
        caller = finder.function_of(frame.f_back.f_code) if callee and frame.f_back else None
        if callee and caller and frame.f_code.co_name[0] != "<" and callee != caller:
            pairs.add((caller.entity, callee.entity))

    names = corpus.namespace(docstring.module)
    for example in docstring.examples:
        sys.setprofile(entered)
        try:
            doctests.run_example(example, names)
        finally:
            sys.setprofile(None)
        if events > EVENTS_OF_DOCSTRING:
            break
    return pairs


Raised = Mapping[int, tuple[str, tuple[doctests.Frame, ...]]]


def raised(corpus: Corpus, module: str, programs: list[tuple[doctests.Example, ...]], sandbox: Sandbox, seconds: float) -> Raised:
    """The exception and frames of each program whose last statement ends in one, by its index; run twice with the same result."""

    def run() -> dict[int, tuple[str, tuple[doctests.Frame, ...]]]:
        found = {}
        for index, program in enumerate(programs):
            recorder = Recorder({}, [], MAX_EVENTS_OF_EXAMPLE)
            with recorder.recording():
                outcomes = doctests.run_examples(program, corpus.namespace(module))
            last = outcomes[-1]
            if len(outcomes) == len(program) and last.exception and not violations and not recorder.spent:
                found[index] = (last.exception, last.frames)
            violations.clear()
        return found

    first = sandbox.run(run, seconds) or {}
    again = sandbox.run(run, seconds) or {}
    return {index: outcome for index, outcome in first.items() if again.get(index) == outcome}
