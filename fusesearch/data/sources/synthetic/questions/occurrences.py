"""Every place where the sources of a package use a name, for questions that ask for all of them."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from fusesearch.data.sources.synthetic.corpus import Corpus, outermost_functions
from fusesearch.data.sources.synthetic.edits import FunctionNode
from fusesearch.data.sources.synthetic.questions.resolve import exported_names


@dataclass(frozen=True)
class Use:
    """One use: the expression before the dot (None for a bare name), and the function and class that hold it."""

    path: str
    line: int
    called: bool
    before: ast.expr | None
    holder: str
    within: str


@dataclass
class Names:
    """``defined``: files that define or assign a name anywhere. ``used``: where it is read. ``unclear``: names that are also
    imported under another name, declared global, a parameter, or a string that is exactly the name."""

    defined: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    used: dict[str, list[Use]] = field(default_factory=lambda: defaultdict(list))
    unclear: set[str] = field(default_factory=set)


def names_of(corpus: Corpus) -> Names:
    """All uses of all names. Files that Python cannot read make every word in them unclear."""
    names = Names()
    for path, source in corpus.sources.items():
        # from the first statement on: decorators and defaults run where the function is defined, not when it is called
        spans = sorted(
            ((node.body[0].lineno, node.body[0].col_offset), function.end, function.entity)
            for function, node in outermost_functions(source.tree, path)
        )
        starts = [start for start, _, _ in spans]
        listed = exported_names(source.tree) or set()
        called = {id(node.func) for node in ast.walk(source.tree) if isinstance(node, ast.Call)}
        for node, within in _walk(source.tree):
            if isinstance(node, FunctionNode | ast.ClassDef):
                names.defined[node.name].append(path)
            elif isinstance(node, ast.arg):
                names.unclear.add(node.arg)
            elif isinstance(node, ast.alias) and node.asname and node.asname != node.name:
                names.unclear |= {node.asname, node.name.rpartition(".")[2]}
            elif isinstance(node, ast.Global | ast.Nonlocal):
                names.unclear.update(node.names)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
                if node.value not in listed:
                    names.unclear.add(node.value)
            elif isinstance(node, ast.Name | ast.Attribute):
                name = node.id if isinstance(node, ast.Name) else node.attr
                if not isinstance(node.ctx, ast.Load):
                    names.defined[name].append(path)
                    continue
                position = bisect_right(starts, (node.lineno, node.col_offset)) - 1
                _, end, holder = spans[position] if position >= 0 else ((0, 0), 0, "")
                before = node.value if isinstance(node, ast.Attribute) else None
                line = node.end_lineno or node.lineno
                names.used[name].append(Use(path, line, id(node) in called, before, holder if node.lineno <= end else "", within))
    for file in corpus.files:
        if file.path not in corpus.sources and file.path.endswith(".py"):
            text = file.real.read_bytes().decode("utf-8", "replace")
            names.unclear.update("".join(c if c.isalnum() or c == "_" else " " for c in text).split())
    return names


def _walk(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """All nodes with the outermost class around them."""
    pending: list[tuple[ast.AST, str]] = [(tree, "")]
    while pending:
        node, within = pending.pop()
        yield node, within
        within = within or (node.name if isinstance(node, ast.ClassDef) else "")
        pending += [(child, within) for child in ast.iter_child_nodes(node)]
