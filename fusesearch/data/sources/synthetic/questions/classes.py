"""The classes of a package and their bases, as far as names can be followed with certainty."""

from __future__ import annotations

import ast

from fusesearch.data.sources.synthetic.edits import FunctionNode
from fusesearch.data.sources.synthetic.questions.resolve import Definition, Program, stored_names


class Classes:
    """Classes at the top of modules: ``nodes`` by entity (``path::name``)."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.nodes = {
            f"{path}::{node.name}": node
            for path, source in program.sources.items() for node in source.tree.body if isinstance(node, ast.ClassDef)
        }  # fmt: skip

    def bases(self, entity: str) -> set[str]:
        """All bases of this package, direct or not."""
        found: set[str] = set()
        pending = [entity]
        while pending:
            for base in self._bases(pending.pop()):
                if base and base.entity in self.nodes and base.entity not in found:
                    found.add(base.entity)
                    pending.append(base.entity)
        return found

    def single_line(self, entity: str) -> list[str]:
        """The class, its base, the base of that, as long as each has one, which is of this package."""
        line = [entity]
        while True:
            bases = self._bases(line[-1])
            if len(bases) != 1 or bases[0] is None or bases[0].entity not in self.nodes or bases[0].entity in line:
                return line
            line.append(bases[0].entity)

    def _bases(self, entity: str) -> list[Definition | None]:
        """Definitions of the direct bases; None for one whose name cannot be followed."""
        module = self._program.modules.get(entity.partition("::")[0], "")
        found = []
        for base in self.nodes[entity].bases:
            owner, name = (base.value, base.attr) if isinstance(base, ast.Attribute) else (None, getattr(base, "id", ""))
            found.append(self._program.follow_from(module, owner, name))
        return found


def member(node: ast.ClassDef, name: str) -> ast.stmt | None:
    """The statement of a class's body that binds the name."""
    for inner in node.body:
        if (isinstance(inner, FunctionNode | ast.ClassDef) and inner.name == name) or (
            isinstance(inner, ast.Assign | ast.AnnAssign) and name in stored_names(inner)
        ):
            return inner
    return None
