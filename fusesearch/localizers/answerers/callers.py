"""Who calls a function, method or class: the calls that certainly do, those that may, and where it is handed on as a value."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cache

from fusesearch.code.definitions import Definition, Definitions, External, Target
from fusesearch.code.functions import FunctionNode
from fusesearch.code.outline import SUPER, Chain, chain_of
from fusesearch.code.scopes import Module, Scope


@dataclass(frozen=True, order=True)
class Use:
    """A line that uses a name: the file, the line, and the outermost function around it ("" at the top of the module)."""

    path: str
    line: int
    holder: str

    @property
    def entity(self) -> str:
        """``path::holder``, or the path alone."""
        return f"{self.path}::{self.holder}" if self.holder else self.path


@dataclass
class Uses:
    """``calls`` are certain, ``possible`` may lead to the definition, ``handed`` name it without a call."""

    calls: list[Use] = field(default_factory=list)
    possible: list[Use] = field(default_factory=list)
    handed: list[Use] = field(default_factory=list)


class Callers:
    """The uses of one definition."""

    def __init__(self, definitions: Definitions, target: Definition) -> None:
        self._definitions, self._target = definitions, target
        self._class = definitions.class_of(target)
        self._words = {target.last}
        self._attribute_class = cache(self._attribute_class_of)
        if self._class is not None and target.last in ("__init__", "__new__"):
            self._words.add(self._class.last)

    def uses(self) -> Uses:
        """All uses in the tree, in the order of paths and lines."""
        found = Uses()
        read: set[str] = set()
        while todo := [path for path in self._definitions.mentioning(self._words) if path not in read]:
            read.update(todo)
            for path in todo:
                if (module := self._definitions.module(path)) is not None:
                    self._words |= self._aliases(module)
        for path in sorted(read):
            if (module := self._definitions.module(path)) is not None:
                self._in_module(module, found)
        sure = {(use.path, use.line) for use in found.calls}
        found.possible = [use for use in found.possible if (use.path, use.line) not in sure]
        return found

    def _aliases(self, module: Module) -> set[str]:
        """Other names that a module binds the definition to."""
        aliases: set[str] = set()
        for node, _ in module.near(self._words):
            if isinstance(node, ast.ImportFrom):
                aliases |= {one.asname for one in node.names if one.asname and one.name in self._words}
        for name, bindings in module.bound.items():
            for bound in bindings:
                chain = chain_of(bound.node.value) if isinstance(bound.node, ast.Assign) else None
                if chain and chain[-1] in self._words and self._target in self._definitions.follow(module.path, name):
                    aliases.add(name)
        return aliases - self._words

    def _in_module(self, module: Module, found: Uses) -> None:
        called: set[int] = set()
        makes = self._target.last in ("__init__", "__new__") or isinstance(self._target.node, ast.ClassDef)
        for node, around in module.near(self._words | ({"cls"} if makes else set())):
            if isinstance(node, FunctionNode | ast.ClassDef):
                called.update(id(one) for one in node.decorator_list)
            if isinstance(node, ast.Call):
                called.add(id(node.func))
            if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
                continue
            chain = chain_of(node)
            last = node.id if isinstance(node, ast.Name) else node.attr
            if last not in self._words and not (makes and chain == ("cls",) and id(node) in called):
                continue
            use = Use(module.path, node.end_lineno or node.lineno, holder_of(around))
            leads, certain = self._leads(module, around, chain, last)
            if leads and id(node) not in called:
                found.handed.append(use)
            elif leads:
                (found.calls if certain else found.possible).append(use)

    def _leads(self, module: Module, around: tuple[Scope, ...], chain: Chain | None, last: str) -> tuple[bool, bool]:
        """Whether an expression may lead to the definition, and whether it certainly does."""
        holder = self._holder(module, around, chain) if chain else None
        targets, certain = self._targets(module, around, chain, holder)
        method = self._class is not None and last == self._target.last and last not in ("__init__", "__new__")
        if targets is None:  # an object of a kind that is not known
            return method, False
        hits = [self._is_target(one) for one in targets]
        if any(hits):
            return True, certain and all(hits)
        if method and holder is not None and self._class is not None and chain and chain[0] != SUPER and len(chain) == 2:
            return holder in self._definitions.order(self._class)[0][1:], False  # self may be of the class that asks
        return False, False

    def _is_target(self, one: Target) -> bool:
        if one == self._target:
            return True
        if isinstance(one, Definition) and isinstance(one.node, ast.ClassDef) and self._target.last in ("__init__", "__new__"):
            return self._target in self._definitions.member(one, self._target.last)[0]
        return False

    def _targets(
        self, module: Module, around: tuple[Scope, ...], chain: Chain | None, holder: Definition | None
    ) -> tuple[list[Target] | None, bool]:
        """What an expression leads to, None for an object that is not known, and whether that is certain."""
        if chain is None or (chain[0] == SUPER and holder is None):
            return None, False
        if holder is not None:
            if len(chain) == 1:
                return [holder], False  # cls may be a subclass
            if chain[0] == SUPER:
                return self._above(holder, chain[1]) if len(chain) == 2 else (None, False)
            receiver = holder if len(chain) == 2 else self._attribute_class(module, holder, chain[1]) if len(chain) == 3 else None
            return self._member_of(receiver, chain[-1])
        found = self._definitions.resolve_in(module, around, chain)
        if found or len(chain) == 1:
            return found, len(found) == 1
        return self._member_of(self._variable_class(module, around, chain[0]) if len(chain) == 2 else None, chain[-1])

    def _member_of(self, receiver: Definition | None, name: str) -> tuple[list[Target] | None, bool]:
        if receiver is None:
            return None, False
        found, certain = self._definitions.member(receiver, name)
        return (found, certain) if found else (None, False)

    def _above(self, definition: Definition, name: str) -> tuple[list[Target] | None, bool]:
        """What ``super()`` finds."""
        order, certain = self._definitions.order(definition)
        for one in order[1:]:
            if isinstance(one, External):
                certain = certain and one.name == "builtins.object"
            elif found := self._definitions.own(one, name):
                return found, certain and len(found) == 1
        return None, False

    def _holder(self, module: Module, around: tuple[Scope, ...], chain: Chain) -> Definition | None:
        """The class of the method around, if its first parameter, or ``super()``, begins the expression."""
        for position in range(len(around) - 1, 0, -1):
            scope, outer = around[position], around[position - 1]
            if not isinstance(scope, FunctionNode) or not isinstance(outer, ast.ClassDef):
                continue
            arguments = [*scope.args.posonlyargs, *scope.args.args]
            static = any((chain_of(one) or ("",))[-1] == "staticmethod" for one in scope.decorator_list)
            if chain[0] == SUPER or (arguments and not static and arguments[0].arg == chain[0]):
                return self._definitions.definition_of(module, outer, around[: position - 1])
        return None

    def _attribute_class_of(self, module: Module, holder: Definition, name: str) -> Definition | None:
        """The class of ``self.name`` if every assignment in the class creates one of it."""
        kinds: set[Definition | None] = set()
        for node, around in module.near({name}):
            if holder.node not in around or not isinstance(node, ast.Assign | ast.AnnAssign):
                continue
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if chain_of(target) == ("self", name):
                    kinds.add(self._created(module, around, node.value))
        return next(iter(kinds)) if len(kinds) == 1 else None

    def _variable_class(self, module: Module, around: tuple[Scope, ...], name: str) -> Definition | None:
        """The class of a variable of the function, or of the module, if its one assignment creates it."""
        function = next((scope for scope in reversed(around) if isinstance(scope, FunctionNode)), None)
        within = list(ast.walk(function or module.tree))
        stores = [node for node in within if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)]
        if len(stores) != 1 or (function and name in {node.arg for node in within if isinstance(node, ast.arg)}):
            return None
        created = (node.value for node in within if isinstance(node, ast.Assign) and node.targets == stores)
        return next((self._created(module, around, value) for value in created), None)

    def _created(self, module: Module, around: tuple[Scope, ...], value: ast.expr | None) -> Definition | None:
        chain = chain_of(value.func) if isinstance(value, ast.Call) else None
        targets = self._definitions.resolve_in(module, around, chain) if chain and chain[0] not in ("self", "cls", SUPER) else []
        one = targets[0] if len(targets) == 1 else None
        return one if isinstance(one, Definition) and isinstance(one.node, ast.ClassDef) else None


def holder_of(around: tuple[Scope, ...]) -> str:
    """The qualified name of the outermost function; "" without one."""
    names: list[str] = []
    for scope in around:
        if isinstance(scope, ast.Lambda):
            return ""
        names.append(scope.name)
        if isinstance(scope, FunctionNode):
            return ".".join(names)
    return ""
