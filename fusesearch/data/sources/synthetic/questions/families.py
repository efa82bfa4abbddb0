"""The six families of questions. Each truth comes from the syntax and from the running package, and both must agree.

A candidate that fails a check is dropped under the name of the check. Names are those that a user would write: the shortest
module that has them.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from fusesearch.core.schema import Expected
from fusesearch.data.sources.synthetic import doctests
from fusesearch.data.sources.synthetic.corpus import Corpus, Function, digest
from fusesearch.data.sources.synthetic.edits import FunctionNode
from fusesearch.data.sources.synthetic.questions import runtime
from fusesearch.data.sources.synthetic.questions.failing import failing
from fusesearch.data.sources.synthetic.questions.occurrences import Names, Use, names_of
from fusesearch.data.sources.synthetic.questions.resolve import Classes, Definition, Program, exported_names, member, stored_names
from fusesearch.data.sources.synthetic.recording import Unit
from fusesearch.data.sources.synthetic.sandbox import Sandbox
from fusesearch.data.sources.synthetic.symptoms import imports_of
from fusesearch.localizers.answerers.wording import ask

MAX_VALUE_CHARS = 24
SET_SIZES = range(2, 5)
PER_FAMILY = 60
"""Candidates of a family per repository that are checked further."""

MAX_REPRODUCERS = 80
"""Whose calls are changed, per repository: more find the same exceptions again."""

MAX_CODE_CHARS = 300
SECONDS = 120.0
SECONDS_OF_CALLS = 20.0
"""Only for calls that loop without calling anything; others end after a number of events."""

SHARE_OF_BUDGET = 0.9
FUNDAMENTAL = frozenset({"Exception", "BaseException"})


@dataclass(frozen=True)
class Literal:
    """A literal that the snapshot gets another of: its node, and how the running module shows it."""

    path: str
    node: ast.expr
    name: str
    parameter: str


@dataclass(frozen=True)
class Question:
    """A question with its truth. ``literal`` is set if its truth is a value, which the altered snapshot changes."""

    text: str
    expected: Expected
    literal: Literal | None = None


@dataclass(frozen=True)
class Public:
    """What a user calls a definition, and the modules from that name to the definition."""

    name: str
    module: str
    attribute: str
    definition: Definition


@dataclass
class Asker:
    """Makes the candidates of one package; ``dropped`` counts the others by family and check."""

    corpus: Corpus
    seed: int
    sandbox: Sandbox
    dropped: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        modules = {file.path: file.module for file in self.corpus.files if file.module and file.path in self.corpus.sources}
        self.program = Program(self.corpus.sources, modules)
        self.classes = Classes(self.program)
        self.names: Names = names_of(self.corpus)
        self.publics = self._publics()
        wanted = {(public.module, public.attribute) for public in self.publics.values()}
        constants = {(module, name) for module in modules.values() for name in self.program.bindings(module)[0] if name.isupper()}
        self.facts = runtime.observe(self.corpus, sorted(wanted | constants), self.sandbox, SECONDS)

    def questions(self, units: Sequence[Unit]) -> dict[str, list[Question]]:
        """At most ``PER_FAMILY`` candidates of each family, drawn by the seed."""
        called = runtime.callers(self.corpus, self.seed, self.sandbox, 60, SHARE_OF_BUDGET)
        families: dict[str, Callable[[], Iterator[Question]]] = {
            "default": self.default,
            "constant": self.constant,
            "exported": self.exported,
            "callers": lambda: self.callers(called),
            "overrides": self.overrides,
            "raises": lambda: self.raises(units),
        }
        found = {}
        for family, make in families.items():
            distinct = {question.text: question for question in make()}  # a property has several definitions
            drawn = sorted(distinct.values(), key=lambda question: digest(self.seed, family, question.text))
            self.dropped[family, "over_limit"] += max(0, len(drawn) - PER_FAMILY)
            found[family] = drawn[:PER_FAMILY]
        return found

    def default(self) -> Iterator[Question]:
        """Defaults of parameters of public functions."""
        for public in self._functions():
            arguments = public.definition.node.args  # type: ignore[attr-defined]
            positional = [*arguments.posonlyargs, *arguments.args]
            pairs = [*zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True),
                     *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]  # fmt: skip
            for argument, node in pairs:
                value = _literal(node) if node is not None else None
                if value is None or node is None:
                    continue
                seen = self.facts.values.get((public.module, public.attribute, argument.arg))
                if not self._agree("default", seen, repr(value)):
                    continue
                hops = 1 + (len(public.definition.chain) - 1 if self._ambiguous(public) else 0)
                text = self._ask("default", public, parameter=argument.arg)
                path = public.definition.path
                expected = self._expected("default", "value", [repr(value)], path, [node.lineno], hops, argument.arg)
                yield Question(text, expected, Literal(path, node, public.definition.name, argument.arg))

    def constant(self) -> Iterator[Question]:
        """The one module-level constant that a public function uses."""
        for public in self._functions():
            definition = public.definition
            module = self.program.modules[definition.path]
            local = stored_names(definition.node) | {arg.arg for arg in ast.walk(definition.node) if isinstance(arg, ast.arg)}
            loaded = {node.id: node for node in ast.walk(definition.node) if isinstance(node, ast.Name) and node.id not in local}
            upper = [name for name in loaded if name.isupper()]
            upper += [node.attr for node in ast.walk(definition.node) if isinstance(node, ast.Attribute) and node.attr.isupper()]
            if len(upper) != 1 or upper[0] not in loaded:
                self.dropped["constant", "uses several"] += len(upper) > 1
                continue
            (name,) = upper
            node, found = loaded[name], self.program.follow(module, name)
            if found is None or not _is_assigned(found.node):
                continue
            value = _literal(found.node.value)  # type: ignore[attr-defined]
            if value is None or name in self.names.unclear:
                continue
            seen = self.facts.values.get((self.program.modules[found.path], found.name, ""))
            if not self._agree("constant", seen, repr(value)):
                continue
            hops = 2 + (len(self.names.defined[name]) > 1)
            expected = self._expected("constant", "value", [repr(value)], found.path, [found.node.lineno], hops, found.name)
            expected.evidence.append(self._line(definition.path, node.lineno))
            literal = Literal(found.path, found.node.value, found.name, "")  # type: ignore[attr-defined]
            yield Question(self._ask("constant", public), expected, literal)

    def exported(self) -> Iterator[Question]:
        """The file and name behind a public name that is imported from elsewhere."""
        for public in self.publics.values():
            definition = public.definition
            if len(definition.chain) < 2 or not isinstance(definition.node, FunctionNode | ast.ClassDef):
                continue
            place = self.facts.places.get((public.module, public.attribute))
            line = _first_line(definition.node) if isinstance(definition.node, FunctionNode) else 0
            if not self._agree("exported", place, (definition.path, definition.name, line)):
                continue
            stem = definition.path.rpartition("/")[2].removesuffix(".py").strip("_")
            if stem.casefold() in public.attribute.casefold() or public.attribute.casefold() in stem.casefold():
                self.dropped["exported", "the name says the file"] += 1
                continue
            hops = len(definition.chain) if self._ambiguous(public) or definition.name != public.attribute else 1
            expected = self._expected(
                "exported", "entity", [definition.entity], definition.path, [definition.node.lineno], hops, public.attribute
            )
            yield Question(self._ask("exported", public), expected)

    def callers(self, called: dict[str, set[str]]) -> Iterator[Question]:
        """Functions that call a function whose name has one definition, where every use of the name is understood."""
        for entity, (function, _) in self.corpus.functions.items():
            name = function.name.rpartition(".")[2]
            uses = [use for use in self.names.used.get(name, []) if use.holder != entity]
            if self.names.defined[name] != [function.path] or name.startswith("__") or not uses:
                continue
            holders = sorted({use.holder for use in uses})
            if len(holders) not in SET_SIZES:
                continue
            if name in self.names.unclear or any(not self._is_call_of(use, function) for use in uses) or "" in holders:
                self.dropped["callers", "a use is unclear"] += 1
                continue
            seen = called.get(entity, set()) - {entity}
            if not self._agree("callers", seen - set(holders), set()):
                continue
            first = {use.holder: use for use in sorted(uses, key=lambda use: -use.line)}
            evidence = [self._line(use.path, use.line) for use in first.values()]
            expected = Expected(family="callers", kind="set", values=holders, evidence=evidence, hops=2, subject=name)
            draw = digest(self.seed, "callers", entity)
            yield Question(ask("callers", draw, name=name), expected)

    def overrides(self) -> Iterator[Question]:
        """Which subclasses define a method of their own, and whose method a class gets."""
        classes = self.classes.nodes
        below: dict[str, set[str]] = {}
        for entity in classes:
            for base in self.classes.bases(entity):
                below.setdefault(base, set()).add(entity)
        for public in self.publics.values():
            entity = public.definition.entity
            if entity not in classes or entity not in self.facts.methods:
                continue
            for node in classes[entity].body:
                if isinstance(node, FunctionNode) and not node.name.startswith("_"):
                    yield from self._overriding(public, node, sorted(below.get(entity, set())))
            yield from self._inherited(public)

    def _overriding(self, public: Public, method: FunctionNode, below: list[str]) -> Iterator[Question]:
        entity = public.definition.entity
        own = {name: found for name in below if (found := member(self.classes.nodes[name], method.name))}
        if len(own) not in SET_SIZES:
            return
        runs = {
            name for name, lookup in self.facts.lookup.items()
            if entity in lookup and name != entity and method.name in self.facts.methods[name]
        }  # fmt: skip
        if self._agree("overrides", runs, set(own)):
            evidence = [self._line(name.partition("::")[0], found.lineno) for name, found in own.items()]
            expected = Expected(
                family="overrides", kind="set", values=sorted(own), evidence=evidence, hops=2, subject=method.name
            )
            yield Question(self._ask("overrides", public, method=method.name), expected)

    def _inherited(self, public: Public) -> Iterator[Question]:
        """Methods from a base that is not the nearest: along single inheritance in the syntax, by look-up at run time."""
        entity, classes = public.definition.entity, self.classes.nodes
        known = {node.name for node in classes[entity].body if isinstance(node, FunctionNode)}
        for depth, base in enumerate(self.classes.single_line(entity)[1:], 1):
            for node in classes[base].body:
                if not isinstance(node, FunctionNode) or node.name.startswith("_") or node.name in known:
                    continue
                known.add(node.name)
                if len(self.names.defined[node.name]) < 2 or depth < 2:
                    continue
                first = next((name for name in self.facts.lookup[entity] if node.name in self.facts.methods[name]), None)
                if self._agree("overrides", first, base):
                    path = base.partition("::")[0]
                    expected = self._expected(
                        "overrides", "entity", [f"{base}.{node.name}"], path, [node.lineno], depth + 1, node.name
                    )
                    yield Question(self._ask("inherited", public, method=node.name), expected)

    def raises(self, units: Sequence[Unit]) -> Iterator[Question]:
        """Calls of docstrings, with another argument, that fail twice the same way. The line must be a ``raise`` of that name."""
        seen: set[tuple[str, str]] = set()
        drawn = sorted(units, key=lambda unit: digest(self.seed, "raises", unit.identity))[:MAX_REPRODUCERS]
        for unit in drawn:
            if self.sandbox.spent(SHARE_OF_BUDGET):
                self.dropped["raises", "budget spent"] += 1
                continue
            programs = list(failing(unit))
            outcomes = runtime.raised(self.corpus, unit.module, programs, self.sandbox, SECONDS_OF_CALLS) if programs else {}
            for index, (error, frames) in outcomes.items():
                if question := self._raise(unit, programs[index], error, frames, seen):
                    yield question

    def _raise(
        self, unit: Unit, program: tuple[doctests.Example, ...], error: str, frames: tuple[doctests.Frame, ...],
        seen: set[tuple[str, str]],
    ) -> Question | None:  # fmt: skip
        places = [(self.corpus.paths[frame.filename], frame.line) for frame in frames if frame.filename in self.corpus.paths]
        if not places or frames[-1].filename not in self.corpus.paths:
            self.dropped["raises", "raised outside"] += 1
            return None
        path, line = places[-1]
        function = self._function_at(path, line)
        if function is None or error in FUNDAMENTAL:
            return None
        named = self._raised_at(path, line)
        if named is None:
            self.dropped["raises", "no raise statement that names it"] += 1
            return None
        if not self._agree("raises", error, named):
            return None
        if (function.entity, error) in seen:
            self.dropped["raises", "asked already"] += 1
            return None
        code = "\n".join([*imports_of(unit.module, program), *(example.shown for example in program)])
        if len(code) > MAX_CODE_CHARS or doctests.uses_private_names(program):
            self.dropped["raises", "too long"] += 1
            return None
        seen.add((function.entity, error))
        passed = {found.entity for place in places if (found := self._function_at(*place))}
        expected = self._expected("raises", "pair", [error, function.entity], path, [line], len(passed), function.name)
        draw = digest(self.seed, "raises", code)
        return Question(ask("raises", draw, code), expected)

    def _publics(self) -> dict[str, Public]:
        """The best public name of each definition: that in the shortest module which defines, lists or, as a package, has it."""
        best: dict[str, Public] = {}
        for module in sorted(self.program.paths, key=lambda name: (name.count("."), name)):
            path = self.program.paths[module]
            if any(part.startswith("_") for part in module.split(".")):
                continue
            bound, stars = self.program.bindings(module)
            from_stars = [name for star in stars if star in self.program.paths for name in self.program.bindings(star)[0]]
            listed = exported_names(self.corpus.sources[path].tree) or set()
            for name in sorted({*bound, *from_stars}):
                definition = None if name.startswith("_") else self.program.follow(module, name)
                if definition and (definition.path == path or name in listed or path.endswith("__init__.py")):
                    best.setdefault(definition.entity, Public(f"{module}.{name}", module, name, definition))
        return best

    def _functions(self) -> Iterator[Public]:
        """Public functions that run as their syntax says: no decorator put another in their place."""
        for public in self.publics.values():
            node = public.definition.node
            if isinstance(node, FunctionNode):
                place = self.facts.places.get((public.module, public.attribute))
                if place == (public.definition.path, public.definition.name, _first_line(node)):
                    yield public

    def _ambiguous(self, public: Public) -> bool:
        """Whether a search for the definition finds others of its name, too."""
        return len(self.names.defined[public.definition.name]) > 1

    def _is_call_of(self, use: Use, function: Function) -> bool:
        """Whether a use is a call that certainly reaches the function."""
        if not use.called:
            return False
        owner, _, name = function.name.rpartition(".")
        if owner:
            within = f"{use.path}::{use.within}"
            if not isinstance(use.before, ast.Name) or use.before.id not in ("self", "cls") or within not in self.classes.nodes:
                return False
            return owner in {base.partition("::")[2] for base in (within, *self.classes.bases(within))}
        found = self.program.follow_from(self.program.modules[use.path], use.before, name)
        return found is not None and found.entity == function.entity

    def _raised_at(self, path: str, line: int) -> str | None:
        """The exception that the ``raise`` statement on a line names."""
        for node in ast.walk(self.corpus.sources[path].tree):
            if isinstance(node, ast.Raise) and node.lineno <= line <= (node.end_lineno or node.lineno):
                named = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                return named.id if isinstance(named, ast.Name) else named.attr if isinstance(named, ast.Attribute) else None
        return None

    def _function_at(self, path: str, line: int) -> Function | None:
        spans = (function for function, _ in self.corpus.functions.values() if function.path == path)
        return next((function for function in spans if function.start <= line <= function.end), None)

    def _agree(self, family: str, runs: object, reads: object) -> bool:
        """Whether what runs equals what the syntax says."""
        if runs is None:
            self.dropped[family, "not seen at run time"] += 1
        elif runs != reads:
            self.dropped[family, "routes disagree"] += 1
        return runs is not None and runs == reads

    def _ask(self, kind: str, public: Public, **names: str) -> str:
        return ask(kind, digest(self.seed, kind, public.name, *names.values()), name=public.name, **names)

    def _line(self, path: str, line: int) -> str:
        return f"{path}:{self.corpus.committed(path).line(line)}"

    def _expected(
        self, family: str, kind: str, values: list[str], path: str, lines: list[int], hops: int, subject: str
    ) -> Expected:  # fmt: skip
        evidence = [self._line(path, line) for line in lines]
        return Expected.model_validate(
            {"family": family, "kind": kind, "values": values, "evidence": evidence, "hops": hops, "subject": subject}
        )


def _first_line(node: FunctionNode) -> int:
    """The line of the first decorator, or of the definition: what ``co_firstlineno`` says."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _is_assigned(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)


def _literal(node: ast.expr) -> int | float | str | None:
    """The value of a literal on one line that cannot be guessed easily: no True, None, 0, 1, -1, or empty text."""
    if node.lineno != node.end_lineno:
        return None
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str) or value in (0, 1, -1, ""):
        return None
    plain = not isinstance(value, str) or (value.isprintable() and "`" not in value)
    return value if plain and len(repr(value)) <= MAX_VALUE_CHARS else None
