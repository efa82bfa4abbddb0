"""What a module shows when it runs with other literals.

It runs in a child of the :class:`Sandbox`, so that importing it changes nothing for others.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterable
from importlib.machinery import SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from fusesearch.data.sources.synthetic.corpus import Corpus, future_flags
from fusesearch.data.sources.synthetic.sandbox import Sandbox


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
