"""Answers to questions about Python code from its syntax alone: each is certain, or says what it may be instead.

Two definitions of a name, a base class that cannot be followed, a constant that is set twice: what the code does not settle is
no answer. Then the candidates are listed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fusesearch.code.definitions import Definition, Definitions, External, Target, TooMuchError
from fusesearch.code.functions import FunctionNode, parse
from fusesearch.code.kinds import file_kind
from fusesearch.code.outline import chain_of
from fusesearch.code.scopes import Bound, Module, effective, stored, walk
from fusesearch.core.schema import Location
from fusesearch.localizers.answerers.asked import Asked
from fusesearch.localizers.answerers.callers import Callers, Use
from fusesearch.localizers.answerers.operators import in_python, is_operator, parts
from fusesearch.search.repository import Repository

MAX_CHARS = 20_000
LINE_CHARS = 300
MAX_LINES = 100
"""Lines of an answer's text; its values are complete."""

Parameters = dict[str, Any]
"""The default of each parameter: an expression, None for none, ``...`` where it is not certain."""

_CHANGING = frozenset((
    "add", "append", "appendleft", "clear", "discard", "extend", "extendleft", "insert", "pop", "popitem", "popleft",
    "remove", "reverse", "setdefault", "sort", "update",
))  # fmt: skip
"""Methods that change what they belong to."""

_DATA = ("dataclass", "NamedTuple")


@dataclass
class Finding:
    """``values`` of a certain answer, or ``candidates`` (or neither: nothing was found), and ``lines`` for people.

    ``said`` stands before the lines.
    """

    certain: bool = False
    said: str = ""
    values: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    candidates: list[Location] = field(default_factory=list)

    @classmethod
    def listed(cls, said: str, places: list[Location]) -> Finding:
        """One with ``places`` as its candidates."""
        return cls(False, said, [], lines_of(places), places)

    def text(self) -> str:
        """The answer in words."""
        more = [f"... and {len(self.lines) - MAX_LINES} more"] if len(self.lines) > MAX_LINES else []
        lines = [line if len(line) <= LINE_CHARS else f"{line[:LINE_CHARS]}..." for line in self.lines[:MAX_LINES]]
        return "\n".join([*filter(None, [self.said]), *lines, *more])


def lines_of(places: Iterable[Location]) -> list[str]:
    """The lines for people of those places that have a number."""
    return [f"{one.path}:{one.lines[0]}  {one.function or ''}".rstrip() for one in places if one.lines]


class Unclear(Exception):
    """A question that the code does not settle: ``finding`` says what it may be, with a ``?`` before what is ``doubtful``."""

    def __init__(
        self,
        said: str,
        candidates: Iterable[Definition | Use] = (),
        notes: Iterable[str] = (),
        doubtful: Sequence[Definition | Use] = (),
    ) -> None:
        super().__init__(said)
        places = list(dict.fromkeys(candidates))
        lines = [*map(_line, places), *(f"? {_line(one)}" for one in doubtful), *notes]
        self.finding = Finding(False, said, [], lines, [_location(one) for one in [*places, *doubtful]])


def find(asked: Asked, repository: Repository) -> Finding:
    """The finding for a question."""
    try:
        return getattr(_Finder(Definitions(repository)), f"_{asked.kind}")(**asked.names)
    except Unclear as unclear:
        return unclear.finding
    except TooMuchError:
        return Finding(said="The names of this question lead through too much code: give the name with its module.")


@dataclass
class _Finder:
    definitions: Definitions

    def _exported(self, name: str, code: str = "") -> Finding:
        (found,) = self._one(name, self._named(name), "definition")
        return Finding(True, "", [found.entity], [_line(found)])

    def _default(self, name: str, parameter: str, code: str = "") -> Finding:
        named = self._named(name, callables=True)
        having: list[tuple[Definition, ast.expr | None]] = []
        unsure: list[Definition] = []
        notes: list[str] = []
        for one in named:
            found = self._parameters(one)
            if found is None:
                unsure += self._fields(one, parameter) or [one]
            elif found[1].get(parameter) is ...:
                unsure += self._fields(one, parameter)
            elif parameter in found[1]:
                having.append((found[0], found[1][parameter]))
            else:
                known = ", ".join(found[1]) or "none"
                notes.append(f"{_line(found[0])}: its parameters are {known}")
        if unsure:
            raise Unclear(
                f"How `{name}` gets `{parameter}` is not certain. It may be here:", [*(one for one, _ in having), *unsure]
            )
        if not having:
            raise Unclear(f"`{name}` has no parameter `{parameter}`.", [], notes)
        values = {ast.dump(node) if node else "" for _, node in having}
        if len(values) > 1:
            raise Unclear(f"`{name}` has several definitions with `{parameter}`:", [one for one, _ in having])
        definition, node = having[0]
        if node is None:
            return Finding(True, f"`{parameter}` has no default: it must be given.", [], [_line(definition)])
        written = self._written(definition, node)
        return Finding(True, "", [written], [f"{definition.path}:{node.lineno}  {definition.name}  {parameter}={written}"])

    def _value(self, name: str) -> Finding:
        named = [one for one in self._named(name) if isinstance(one.node, ast.Assign | ast.AnnAssign | ast.AugAssign)]
        if not named:
            raise Unclear(f"`{name}` is not a constant:", self._named(name))
        (found,) = self._one(name, named, "assignment")
        return self._value_of(found)

    def _value_of(self, found: Definition) -> Finding:
        node = self._constant_node(found)
        if node is None:
            raise Unclear(f"`{found.name}` is not set once and for all:", self._settings(found))
        written = self._written(found, node)
        return Finding(True, "", [written], [f"{_line(found)} = {written}"])

    def _constant(self, name: str, code: str = "") -> Finding:
        (function,) = self._one(name, [one for one in self._named(name) if isinstance(one.node, FunctionNode)], "function")
        module = self.definitions.module(function.path)
        used: dict[Target, None] = {}
        for node, around in walk(module.tree) if module else []:
            if function.node in around and isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                chain = chain_of(node)
                if module and chain and chain[-1].isupper():
                    used.update(dict.fromkeys(self.definitions.resolve_in(module, around, chain)))
        constants = [one for one in used if isinstance(one, Definition) and isinstance(one.node, ast.Assign | ast.AnnAssign)]
        if len(used) != 1 or not constants:
            outside = [f"from elsewhere: {one.name}" for one in used if isinstance(one, External)]
            raise Unclear(f"`{name}` uses {len(used) or 'no'} constants:", constants, outside)
        return self._value_of(constants[0])

    def _callers(self, name: str, code: str = "") -> Finding:
        if is_operator(parts(name)[1]):
            raise Unclear(f"Uses of operators are not searched. `{name}` is defined here:", self._named(name))
        (found,) = self._one(name, self._named(name, callables=True), "definition")
        decorators = found.node.decorator_list if isinstance(found.node, FunctionNode) else []
        if any((chain_of(one) or ("",))[-1] in ("property", "cached_property") for one in decorators):
            raise Unclear(f"`{name}` is a property: it is read, not called.", [found])
        uses = Callers(self.definitions, found).uses()
        calls = [use for use in uses.calls if use.entity != found.entity]
        notes = self._unread()
        sure, possible = _one_of_each(calls), _one_of_each(uses.possible)
        functions = [use for use in sure if use.holder]
        if uses.possible or notes:
            said = f"These functions call `{name}`, or may (the object's class is not known), which is marked with ?:"
            raise Unclear(said if sure or possible else "No call was found:", sure, notes, possible)
        itself = " It calls itself." if len(calls) < len(uses.calls) else ""
        lines = [_line(use) if use.holder else f"{use.path}:{use.line}  (outside functions)" for use in sure]
        handed = [f"handed on without a call: {_line(use)}" for use in dict.fromkeys(uses.handed)][:10]
        said = f"No function calls `{found.name}` directly.{itself}" if not functions else itself.strip()
        return Finding(True, said, [use.entity for use in functions], [*lines, *handed])

    def _overrides(self, name: str, method: str, code: str = "") -> Finding:
        base, method = self._class(name), in_python(method)
        if not self.definitions.member(base, method)[0] and self.definitions.order(base)[1]:
            raise Unclear(f"`{base.name}` has no `{method}`.", [base])
        below, doubtful = self._below(base)
        own = [(one, found[-1]) for one in below if (found := self.definitions.own(one, method))]
        doubtful = [one for one in doubtful if not isinstance(one, Definition) or self.definitions.own(one, method)]
        places = [found if isinstance(found, Definition) else one for one, found in own]
        said = "" if own else f"No class here overrides `{method}` of `{base.name}`."
        return self._listed([one.entity for one, _ in own], places, doubtful, said, f"`{method}` of `{base.name}`")

    def _subclasses(self, name: str) -> Finding:
        base = self._class(name)
        below, doubtful = self._below(base)
        said = "" if below else f"No class here inherits from `{base.name}`."
        return self._listed([one.entity for one in below], below, doubtful, said, f"`{base.name}`")

    def _inherited(self, name: str, method: str, code: str = "") -> Finding:
        holder, method = self._class(name), in_python(method)
        found, certain = self.definitions.member(holder, method)
        if not found:
            raise Unclear(f"`{holder.name}` has no `{method}` in this tree.", [holder])
        inside = [one for one in found if isinstance(one, Definition)]
        if not inside:
            raise Unclear(f"`{holder.name}` gets `{method}` from outside this tree: {found[0].name}")
        if not certain or len(found) > 1 or self._set_on_instances(holder, method):
            raise Unclear(f"Which `{method}` an instance of `{holder.name}` has is not certain. It may be:", inside)
        return Finding(True, "", [inside[0].entity], [_line(inside[0])])

    def _raises(self, code: str) -> Finding:
        """What runs depends on values, so the statements are candidates."""
        called = [node.func for node in ast.walk(parse(code) or ast.Module([], [])) if isinstance(node, ast.Call)]
        names = [chain[-1] for node in called if (chain := chain_of(node))]
        found: list[Definition] = []
        for name in names[-3:]:
            found += [one for one in self.definitions.ending(name) if isinstance(one.node, FunctionNode)]
        statements = [
            Definition(one.path, one.name, node, node.lineno)
            for one in found for node in ast.walk(one.node or ast.Pass()) if isinstance(node, ast.Raise)
        ]  # fmt: skip
        raise Unclear("Which statement runs depends on values. These can raise:", statements)

    def _named(self, name: str, callables: bool = False) -> list[Definition]:
        """The definitions of a name as somebody writes it. Raises :class:`Unclear` if there is none."""
        public = self.definitions.public(in_python(name))
        found = [one for one in public if isinstance(one, Definition)]
        outside = [one for one in public if isinstance(one, External)]
        if not found and not outside:
            dotted = in_python(name.partition("::")[2] or name)
            for fold in (False, True):
                found = self.definitions.ending(dotted, fold)
                found += self._inherited_members(dotted) if not fold else []
                if found := _preferred(found):
                    break
        found = [one for one in found if not callables or _may_be_called(one)] or found
        if not found:
            none = "no function, class, constant or variable has that name"
            where = f"it comes from outside: {outside[0].name}" if outside else none
            raise Unclear(f"`{name}` is not defined here: {where}.")
        return list(dict.fromkeys(found))

    def _inherited_members(self, name: str) -> list[Definition]:
        before, _, last = name.rpartition(".")
        found: list[Definition] = []
        for holder in self.definitions.ending(before) if before else []:
            if isinstance(holder.node, ast.ClassDef):
                found += [one for one in self.definitions.member(holder, last)[0] if isinstance(one, Definition)]
        return found

    def _one(self, name: str, found: list[Definition], what: str) -> tuple[Definition]:
        if not found:
            raise Unclear(f"`{name}` has no {what} here:", self._named(name))
        if len(found) > 1:
            raise Unclear(f"`{name}` has {len(found)} definitions. Ask again with the module before the name:", found)
        return (found[0],)

    def _class(self, name: str) -> Definition:
        named = self._named(name)
        return self._one(name, [one for one in named if isinstance(one.node, ast.ClassDef)], "class")[0]

    def _parameters(self, one: Definition) -> tuple[Definition, Parameters] | None:
        """The function behind a definition and its parameters; None if that is not certain."""
        if isinstance(one.node, FunctionNode):
            return one, _defaults(one.node.args)
        if isinstance(one.node, ast.Assign) and isinstance(one.node.value, ast.Lambda):
            return one, _defaults(one.node.value.args)
        if not isinstance(one.node, ast.ClassDef):
            return None
        made = [self.definitions.member(one, method) for method in ("__init__", "__new__")]
        found = [target for targets, _ in made for target in targets if isinstance(target, Definition)]
        if _is_data(one.node) and not any(target.name == f"{one.name}.__init__" for target in found):
            return self._data(one)
        if len(found) == 1 and isinstance(found[0].node, FunctionNode) and (made[0][1] or made[0][0]):
            above = [target for targets, _ in made for target in targets if isinstance(target, External)]
            order, _ = self.definitions.order(one)
            if made[0][1] and not above and not any(isinstance(c, Definition) and _is_data(c.node) for c in order):
                return found[0], _defaults(found[0].node.args)
        return None

    def _data(self, one: Definition) -> tuple[Definition, Parameters] | None:
        """The fields of a dataclass with those of the dataclasses above it."""
        order, certain = self.definitions.order(one)
        fields: Parameters = {}
        for holder in reversed(order):
            if isinstance(holder, External):
                if holder.name not in ("builtins.object", "abc.ABC", "typing.Generic", "typing.NamedTuple", "typing.Protocol"):
                    return None
                continue
            if not isinstance(holder.node, ast.ClassDef) or not _is_data(holder.node):
                continue
            for node in holder.node.body:
                if (
                    isinstance(node, ast.AnnAssign)
                    and isinstance(node.target, ast.Name)
                    and "ClassVar" not in ast.unparse(node.annotation)
                ):
                    given = _field_default(node.value)
                    fields.pop(node.target.id, None)
                    fields[node.target.id] = given
        return (one, fields) if certain else None

    def _fields(self, one: Definition, parameter: str) -> list[Definition]:
        if not isinstance(one.node, ast.ClassDef):
            return []
        return [found for found in self.definitions.member(one, parameter)[0] if isinstance(found, Definition)]

    def _written(self, definition: Definition, node: ast.expr) -> str:
        """The value of an expression if that is certain, else the expression."""
        value = _literal(node)
        if value is None and (chain := chain_of(node)):
            module = self.definitions.module(definition.path)
            around = next((around for one, around in module.scopes if one is definition.node), ()) if module else ()
            targets = self.definitions.resolve_in(module, around, chain) if module else []
            if len(targets) == 1 and isinstance(targets[0], Definition) and (found := self._constant_node(targets[0])):
                value = _literal(found)
        return value if value is not None else " ".join(ast.unparse(node).split())[:MAX_CHARS]

    def _constant_node(self, found: Definition) -> ast.expr | None:
        """What the only assignment of a name gives it; None if there are others."""
        settings = self._bindings(found)
        if len(settings) != 1 or self._set_elsewhere(found):
            return None
        node = settings[0].node
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            return node.value
        if isinstance(node, ast.Assign) and all(isinstance(one, ast.Name) for one in node.targets):
            return node.value
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Tuple | ast.List):
            names = [one.id if isinstance(one, ast.Name) else "" for one in node.targets[0].elts]
            if isinstance(node.value, ast.Tuple | ast.List) and len(node.value.elts) == len(names):
                given = node.value.elts[names.index(found.last)]
                return None if isinstance(given, ast.Starred) else given
        return None

    def _bindings(self, found: Definition) -> list[Bound]:
        module = self.definitions.module(found.path)
        if module is None:
            return []
        holder = self.definitions.class_of(found)
        bound = module.of_class(holder.node) if holder and isinstance(holder.node, ast.ClassDef) else module.bound
        bindings = bound.get(found.last, [])
        plain = [one for one in effective(bindings) if not isinstance(one.node, ast.AugAssign)]
        return bindings if len(plain) != 1 or any(one.branches for one in bindings[1:]) else plain

    def _settings(self, found: Definition) -> list[Definition]:
        lines = [Definition(found.path, found.name, one.node, one.node.lineno) for one in self._bindings(found)]
        return lines + self._set_elsewhere(found)

    def _set_elsewhere(self, found: Definition) -> list[Definition]:
        """Where other code sets a name: in a function with ``global``, or as an attribute of its module or class."""
        module = self.definitions.module(found.path)
        holder = self.definitions.class_of(found)
        places: list[Definition] = []
        if module is not None and holder is None and found.last in module.set_globally:
            statements = [
                node for node, around in module.near({found.last}) if around and isinstance(node, ast.Assign | ast.AugAssign)
            ]
            places += [
                Definition(found.path, found.name, node, node.lineno) for node in statements if found.last in stored(node)
            ]  # fmt: skip
        for path in self.definitions.mentioning([found.last]):
            other = self.definitions.module(path)
            for node, around in other.near({found.last}) if other and file_kind(path) != "test" else []:
                chain = _changed(node)
                if not chain or chain[-1] != found.last or (isinstance(node, ast.Name | ast.Attribute) and len(chain) == 1):
                    continue
                own = holder is not None and chain[0] == "cls" and any(scope is holder.node for scope in around)
                if own or (other and found in self.definitions.resolve_in(other, around, chain)):
                    places.append(Definition(path, found.name, None, getattr(node, "lineno", 1)))
        return places

    def _set_on_instances(self, holder: Definition, method: str) -> bool:
        """Whether a class of the order of look-up sets ``self.method``."""
        for one in self.definitions.order(holder)[0]:
            if isinstance(one, Definition) and one.node is not None:
                for node in ast.walk(one.node):
                    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and chain_of(node) == ("self", method):
                        return True
        return False

    def _below(self, base: Definition) -> tuple[list[Definition], list[Definition | str]]:
        """All classes below one, and what may be: classes with a base that cannot be followed, and files that cannot be read."""
        words, read = {base.last}, set[str]()
        classes: dict[Definition, list[list[Target]]] = {}
        doubtful: list[Definition | str] = []
        known: dict[Definition, None] = {base: None}
        while todo := [path for path in self.definitions.mentioning(words) if path not in read]:
            read.update(todo)
            for path in todo:
                module = self.definitions.module(path)
                if module is None:
                    continue
                for node, around in module.scopes:
                    if isinstance(node, ast.ClassDef):
                        one = self.definitions.definition_of(module, node, around)
                        classes[one] = self.definitions.bases(one)
                doubtful += [
                    f"? {path}:{getattr(node, 'lineno', 1)}  a class that runs make"
                    for node, _ in module.near(words) if _makes_class(node, words)
                ]  # fmt: skip
            while fresh := [
                one for one, bases in classes.items() if one not in known and any(known.keys() & {*targets} for targets in bases)
            ]:
                known.update(dict.fromkeys(fresh))
            words |= {one.last for one in known}
            for path in read:
                if (module := self.definitions.module(path)) is not None:
                    words |= _other_names(module, words)
        sure = [one for one in known if one != base and all(len(t) == 1 for t in classes[one] if known.keys() & set(t))]
        doubtful += [one for one in known if one != base and one not in sure]
        for one, bases in classes.items():
            unknown = [base.name for targets in bases for base in targets if isinstance(base, External) and base.name[0] == "?"]
            if one not in known and _has_word(" ".join(unknown), words):
                doubtful.append(one)
        doubtful += self._unread()
        return sorted(sure, key=lambda one: (one.path, one.line)), doubtful

    def _unread(self) -> list[str]:
        return [f"? {path}: cannot be read as Python" for path in sorted(self.definitions.unread)]

    def _listed(
        self, values: list[str], places: list[Definition], doubtful: list[Definition | str], said: str, what: str
    ) -> Finding:  # fmt: skip
        if doubtful:
            classes = [one for one in doubtful if isinstance(one, Definition)]
            notes = [one for one in doubtful if isinstance(one, str)]
            raise Unclear(f"This may not be all of {what}; what is not certain is marked with ?:", places, notes, classes)
        return Finding(True, said, values, [_line(one) for one in places])


def _preferred(found: list[Definition]) -> list[Definition]:
    """Of several definitions those that are meant: at the top rather than in functions, of code rather than of tests, functions
    and classes rather than what is assigned; a stub stands for its module only where that is missing."""
    paths = {one.path for one in found}
    found = [one for one in found if not (one.path.endswith(".pyi") and one.path[:-1] in paths)]
    for better in (_is_defined, lambda one: not one.inside, lambda one: file_kind(one.path) == "code"):
        found = [one for one in found if better(one)] or found
    classes = [one for one in found if isinstance(one.node, ast.ClassDef) and "." not in one.name]
    if len(classes) == 1 and classes[0].last[:1].isupper():  # a class of that name, rather than what makes one of it
        return classes
    return list(dict.fromkeys(found))


def _one_of_each(uses: Iterable[Use]) -> list[Use]:
    """The first use in each function, tests last."""
    first = {use.entity: use for use in sorted(uses, key=lambda use: (file_kind(use.path) == "test", use), reverse=True)}
    return list(reversed(first.values()))


def _is_defined(one: Definition) -> bool:
    return isinstance(one.node, FunctionNode | ast.ClassDef)


def _may_be_called(one: Definition) -> bool:
    return _is_defined(one) or (isinstance(one.node, ast.Assign) and isinstance(one.node.value, ast.Lambda))


def _defaults(arguments: ast.arguments) -> Parameters:
    positional = [*arguments.posonlyargs, *arguments.args]
    found: Parameters = {one.arg: None for one in positional}
    found |= {
        one.arg: node
        for one, node in zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True)
    }
    found |= {one.arg: node for one, node in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)}
    return found


def _is_data(node: ast.AST | None) -> bool:
    """Whether a class is a dataclass of the standard library or a named tuple."""
    if not isinstance(node, ast.ClassDef):
        return False
    names = [chain_of(one.func if isinstance(one, ast.Call) else one) for one in node.decorator_list] + [
        chain_of(one) for one in node.bases
    ]
    return any(name and name[-1] in _DATA for name in names)


def _field_default(node: ast.expr | None) -> ast.expr | type(...) | None:  # type: ignore[valid-type]
    """The default of a dataclass's field; ``...`` if it is not certain."""
    if not isinstance(node, ast.Call) or (chain_of(node.func) or ("",))[-1] != "field":
        return node
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    if "default_factory" in given or None in given or "init" in given:
        return ...
    return given.get("default")


def _literal(node: ast.expr) -> str | None:
    try:
        return repr(ast.literal_eval(node))[:MAX_CHARS]
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _changed(node: ast.AST) -> tuple[str, ...] | None:
    """What a node sets as an attribute, or changes in place."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGING:
        return chain_of(node.func.value)
    if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return chain_of(node) if isinstance(node, ast.Attribute) else chain_of(node.value)
    return None


def _makes_class(node: ast.AST, words: set[str]) -> bool:
    """Whether a call of ``type`` or the like makes a class below one of the names."""
    if not isinstance(node, ast.Call) or len(node.args) < 2:
        return False
    if (chain_of(node.func) or ("",))[-1] not in ("type", "new_class"):
        return False
    return any(
        isinstance(one, ast.Name | ast.Attribute) and (chain_of(one) or ("",))[-1] in words for one in ast.walk(node.args[1])
    )


def _other_names(module: Module, words: set[str]) -> set[str]:
    found: set[str] = set()
    for name, bindings in module.bound.items():
        for bound in bindings:
            value = bound.node.value if isinstance(bound.node, ast.Assign) else None
            chain = chain_of(value) if value else None
            if isinstance(value, ast.Tuple | ast.List | ast.IfExp) and _has_word(ast.unparse(value), words):
                found.add(name)
            if (bound.alias and bound.alias.name in words) or (chain and chain[-1] in words):
                found.add(name)
    return found


def _has_word(text: str, words: set[str]) -> bool:
    return bool(words & set("".join(c if c.isalnum() or c == "_" else " " for c in text).split()))


def _line(one: Definition | Use) -> str:
    return lines_of([_location(one)])[0]


def _location(one: Definition | Use) -> Location:
    name = one.name if isinstance(one, Definition) else one.holder
    return Location(path=one.path, function=name or None, lines=(one.line, one.line))
