"""What a function is in each language read by tree-sitter: a table of node types, one row a language.

The rules are those of Python (:mod:`tasks.code.structure`), carried over:

- A function or method has a body. Prototypes, abstract methods, signatures in interfaces and traits, defaulted or deleted
  members are none. A property or accessor with a body is one.
- It counts with all that is nested in it, and is named through what holds it: classes, interfaces, enums, objects,
  ``impl`` blocks and traits, modules, C++ and TypeScript namespaces, and Go's receivers, joined by dots.
  Packages, and the namespaces of C# and PHP, which name a whole file as a package does, are no part of a name.
- In JavaScript, TypeScript and Go, a function without a name that is assigned to one takes it. Other functions without a
  name are looked through: what is named inside a callback or a module wrapper counts for itself.
- Decorators, attributes, annotations and template headers belong to it; comments above it do not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tasks.code import naming

Node = Any
"""A ``tree_sitter.Node``; the package is imported only where files are parsed."""

Namer = Callable[[Node], str | None]


@dataclass(frozen=True)
class Language:
    """How to read functions from a syntax tree of one grammar.

    ``functions`` and ``containers`` map a node type to what names it (``None``: no function after all, or a container
    that adds nothing). ``bindings`` are nodes that give a name to the value assigned in them, with their fields for
    both. ``leading`` nodes stand before a function as its siblings and belong to it.
    """

    module: str
    suffixes: tuple[str, ...]
    functions: Mapping[str, Namer]
    containers: Mapping[str, Namer]
    comments: tuple[str, ...] = ("comment",)
    bindings: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    values: frozenset[str] = frozenset()
    leading: frozenset[str] = frozenset()
    entry: str = "language"


def _all(names: str, namer: Namer) -> dict[str, Namer]:
    return dict.fromkeys(names.split(), namer)


_SCRIPT_FUNCTIONS = {
    **_all("function_declaration generator_function_declaration method_definition", naming.with_body),
    **_all("function_expression arrow_function generator_function", naming.exported),
}
_SCRIPT_CONTAINERS = _all("class_declaration class abstract_class_declaration internal_module module", naming.by_name)
_SCRIPT_BINDINGS = {
    "variable_declarator": ("name", "value"),
    "assignment_expression": ("left", "right"),
    "pair": ("key", "value"),
    "field_definition": ("property", "value"),
    "public_field_definition": ("name", "value"),
}
_SCRIPT_VALUES = frozenset({"function_expression", "arrow_function", "generator_function"})
_C_COMMENTS = ("line_comment", "block_comment")


def _script(module: str, entry: str, *suffixes: str) -> Language:
    return Language(
        module,
        suffixes,
        _SCRIPT_FUNCTIONS,
        _SCRIPT_CONTAINERS,
        bindings=_SCRIPT_BINDINGS,
        values=_SCRIPT_VALUES,
        leading=frozenset({"decorator"}),
        entry=entry,
    )


LANGUAGES: dict[str, Language] = {
    "javascript": _script("tree_sitter_javascript", "language", ".js", ".jsx", ".mjs", ".cjs"),
    "typescript": _script("tree_sitter_typescript", "language_typescript", ".ts", ".mts", ".cts"),
    "tsx": _script("tree_sitter_typescript", "language_tsx", ".tsx"),
    "java": Language(
        "tree_sitter_java",
        (".java",),
        _all("method_declaration constructor_declaration compact_constructor_declaration", naming.with_body),
        _all(
            "class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration",
            naming.by_name,
        ),
        _C_COMMENTS,
    ),
    "go": Language(
        "tree_sitter_go",
        (".go",),
        {"function_declaration": naming.with_body, "method_declaration": naming.go_method},
        {},
        bindings={"var_spec": ("name", "value")},
        values=frozenset({"func_literal"}),
    ),
    "rust": Language(
        "tree_sitter_rust",
        (".rs",),
        {"function_item": naming.with_body},
        {"mod_item": naming.by_name, "trait_item": naming.by_name, "impl_item": naming.rust_type},
        _C_COMMENTS,
        leading=frozenset({"attribute_item"}),
    ),
    "c": Language("tree_sitter_c", (".c",), {"function_definition": naming.c_function}, {}),
    "cpp": Language(
        "tree_sitter_cpp",
        (".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"),
        {"function_definition": naming.c_function},
        _all("class_specifier struct_specifier union_specifier namespace_definition", naming.c_scope),
    ),
    "csharp": Language(
        "tree_sitter_c_sharp",
        (".cs",),
        {
            **_all("method_declaration constructor_declaration destructor_declaration", naming.csharp_member),
            **_all("operator_declaration conversion_operator_declaration", naming.csharp_member),
            **_all("property_declaration indexer_declaration event_declaration", naming.csharp_accessors),
        },
        _all("class_declaration struct_declaration interface_declaration enum_declaration record_declaration", naming.by_name),
    ),
    "ruby": Language(
        "tree_sitter_ruby",
        (".rb", ".rake"),
        _all("method singleton_method", naming.by_name),
        _all("class module", naming.by_name),
    ),
    "php": Language(
        "tree_sitter_php",
        (".php",),
        _all("function_definition method_declaration", naming.with_body),
        _all("class_declaration interface_declaration trait_declaration enum_declaration", naming.by_name),
        entry="language_php",
    ),
    "kotlin": Language(
        "tree_sitter_kotlin",
        (".kt", ".kts"),
        {
            "function_declaration": naming.kotlin_function,
            "property_declaration": naming.kotlin_property,
            "secondary_constructor": naming.kotlin_constructor,
        },
        _all("class_declaration object_declaration enum_entry", naming.kotlin_type),
        _C_COMMENTS,
    ),
}
"""Every language that tree-sitter reads here; Python is read by its own parser."""

_BY_SUFFIX = {suffix: name for name, language in LANGUAGES.items() for suffix in language.suffixes}
_CPP = re.compile(r"^[ \t]*(?:class|namespace|template|using|public:|private:|protected:)\b|\w::\w", re.MULTILINE)


def language_of(path: str, source: str = "") -> str | None:
    """The row of :data:`LANGUAGES` a file belongs to, by its suffix; ``.h`` is C++ where its text has what C lacks."""
    suffix = path[path.rfind(".") :].lower() if "." in path else ""
    if suffix == ".h":
        return "cpp" if _CPP.search(source) else "c"
    return _BY_SUFFIX.get(suffix)
