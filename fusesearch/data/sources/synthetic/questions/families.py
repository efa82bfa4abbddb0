"""The two families of questions, whose truth the syntax says: a name is followed strictly, or not at all.

A candidate that fails a check is dropped under the name of the check. Names are those that a user would write: the shortest
module that has them.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fusesearch.agents.questions import ask
from fusesearch.core.schema import Expected
from fusesearch.data.sources.synthetic.corpus import Corpus, digest
from fusesearch.data.sources.synthetic.edits import FunctionNode
from fusesearch.data.sources.synthetic.questions.resolve import Definition, Program, exported_names

MAX_VALUE_CHARS = 24
PER_FAMILY = 60
"""Candidates of a family per repository that are checked further."""


@dataclass(frozen=True)
class Question:
    """A question with its truth about ``definition``.

    ``literal`` is set if the truth is a value: the node of the default that the altered snapshot has another of.
    """

    text: str
    expected: Expected
    definition: Definition
    literal: ast.expr | None = None


@dataclass
class Asker:
    """Makes the candidates of one package; ``dropped`` counts the others by family and check."""

    corpus: Corpus
    seed: int
    dropped: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        modules = {file.path: file.module for file in self.corpus.files if file.module and file.path in self.corpus.sources}
        self.program = Program(self.corpus.sources, modules)
        self.publics = self._publics()
        self.defined = Counter(name for source in self.corpus.sources.values() for name in _defined_names(source.tree))

    def questions(self) -> dict[str, list[Question]]:
        """At most ``PER_FAMILY`` candidates of each family, drawn by the seed."""
        found = {}
        for family, made in (("default", self.default()), ("exported", self.exported())):
            distinct = {question.text: question for question in made}  # a property has several definitions
            drawn = sorted(distinct.values(), key=lambda question: digest(self.seed, family, question.text))
            self.dropped[family, "over_limit"] += max(0, len(drawn) - PER_FAMILY)
            found[family] = drawn[:PER_FAMILY]
        return found

    def default(self) -> Iterator[Question]:
        """Defaults of parameters of public functions; the altered module has to show them when it runs."""
        for name, definition in self.publics:
            if not isinstance(definition.node, FunctionNode):
                continue
            arguments = definition.node.args
            positional = [*arguments.posonlyargs, *arguments.args]
            pairs = [*zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True),
                     *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]  # fmt: skip
            for argument, default in pairs:
                value = _literal(default) if default is not None else None
                if value is None or default is None:
                    continue
                hops = len(definition.chain) if self._ambiguous(definition) else 1
                truth = {"family": "default", "kind": "value", "values": [repr(value)], "hops": hops, "subject": argument.arg}
                yield self._question(name, definition, truth, default, parameter=argument.arg)

    def exported(self) -> Iterator[Question]:
        """The file and name behind a public name that is imported from elsewhere."""
        for name, definition in self.publics:
            if len(definition.chain) < 2 or not isinstance(definition.node, FunctionNode | ast.ClassDef):
                continue
            attribute = name.rpartition(".")[2]
            stem = definition.path.rpartition("/")[2].removesuffix(".py").strip("_").casefold()
            if stem in attribute.casefold() or attribute.casefold() in stem:
                self.dropped["exported", "the name says the file"] += 1
                continue
            hops = len(definition.chain) if self._ambiguous(definition) or definition.name != attribute else 1
            truth = {"family": "exported", "kind": "entity", "values": [definition.entity], "hops": hops, "subject": attribute}
            yield self._question(name, definition, truth)

    def _publics(self) -> list[tuple[str, Definition]]:
        """Definitions with their best public names: of the shortest module which defines, lists or, as a package, has it."""
        best: dict[str, tuple[str, Definition]] = {}
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
                    best.setdefault(definition.entity, (f"{module}.{name}", definition))
        return list(best.values())

    def _ambiguous(self, definition: Definition) -> bool:
        """Whether a search for the definition finds others of its name, too."""
        return self.defined[definition.name] > 1

    def _question(
        self, name: str, definition: Definition, truth: dict[str, Any], literal: ast.expr | None = None, **names: str
    ) -> Question:
        line = (literal or definition.node).lineno
        evidence = [f"{definition.path}:{self.corpus.committed(definition.path).line(line)}"]
        text = ask(truth["family"], digest(self.seed, truth["family"], name, *names.values()), name=name, **names)
        return Question(text, Expected.model_validate({**truth, "evidence": evidence}), definition, literal)


def _defined_names(tree: ast.Module) -> Iterator[str]:
    """Names that a file defines or assigns anywhere."""
    for node in ast.walk(tree):
        if isinstance(node, FunctionNode | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield node.id if isinstance(node, ast.Name) else node.attr


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
