"""The functions of one file with their lines, its classes and variables, and the definitions nested in its functions."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property

from fusesearch.code.functions import definitions, function_spans, parse, spans_in_tree
from fusesearch.code.names import ending
from fusesearch.code.spans import FunctionSpan, function_at, is_python

_DEFINITION = re.compile(r"\s*(?:async\s+)?(?:def|class)\s+(\w+)")


class Entities:
    """The functions, classes and variables of one file.

    For Python that does not parse and for other languages, only functions and the classes in their names are known.
    """

    def __init__(self, path: str, source: str) -> None:
        tree = parse(source) if is_python(path) else None
        self.lines = source.split("\n")
        self.spans = function_spans(source, path) if tree is None else spans_in_tree(tree, source)
        self.functions = dict.fromkeys(span.name for span in self.spans)
        if tree is None:
            self.classes = _classes(self.functions)
            self.variables = set[str]()
        else:
            found = (f"{prefix}{node.name}" for node, prefix in definitions(tree) if isinstance(node, ast.ClassDef))
            self.classes = dict.fromkeys(found)
            self.variables = set(_variables(tree))

    @cached_property
    def nested(self) -> dict[str, list[str]]:
        """Functions that contain a nested definition, by the bare name of that definition."""
        holders: dict[str, dict[str, None]] = defaultdict(dict)
        headed: set[FunctionSpan] = set()
        for number, line in enumerate(self.lines, 1):
            match = _DEFINITION.match(line)
            span = function_at(self.spans, number) if match else None
            if match and span and span in headed:
                holders[match[1]][span.name] = None
            elif span:
                headed.add(span)
        return {name: list(functions) for name, functions in holders.items()}

    def called(self, name: str) -> list[str]:
        """Functions whose qualified name is ``name`` or ends with it."""
        return ending(name, self.functions)

    def classes_called(self, name: str) -> list[str]:
        """Classes whose qualified name is ``name`` or ends with it."""
        return ending(name, self.classes)


def _variables(tree: ast.Module) -> Iterator[str]:
    """Names assigned in the module, or as ``Class.name`` in a class."""
    for node, prefix in definitions(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = (name for target in targets for name in [target, *getattr(target, "elts", [])])
            yield from (f"{prefix}{name.id}" for name in names if isinstance(name, ast.Name))


def _classes(functions: Iterable[str]) -> dict[str, None]:
    """Classes around functions, from the qualified names of the functions."""
    holders = (name.split(".")[:-1] for name in functions)
    return dict.fromkeys(".".join(parts[:count]) for parts in holders for count in range(1, len(parts) + 1))
