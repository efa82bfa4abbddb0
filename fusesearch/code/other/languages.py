"""What a function is in each language parsed with tree-sitter: a table of node types, one row per language.

The rules follow those for Python (:mod:`fusesearch.code.functions`):

- A function or method has a body. Prototypes, abstract methods, signatures in interfaces and traits, and defaulted or
  deleted members do not count. A property or accessor with a body does.
- It includes everything nested in it. Its name starts with what contains it, joined by dots: classes, interfaces, enums,
  objects, ``impl`` blocks and traits, modules, C++ and TypeScript namespaces, and Go's receivers. Packages do not appear in
  names, nor do namespaces of C# and PHP, which work like packages.
- An extension has the name of the type that it extends. A property of Swift counts if an accessor or observer has a body.
  A value of Scala that is a new instance with a body, and a ``given``, contain functions; without a name, a ``given`` has the one
  that the compiler makes.
- In JavaScript, TypeScript and Go, an anonymous function that is assigned to a name takes that name, also through the calls
  that it is handed to: ``const Row = memo(function () {})``. Other anonymous functions are transparent: a named function
  inside a callback or a module wrapper counts for itself.
- A macro's call with a body has the name that the call says, if it says one: ``METHOD(Cart, total) {}`` is ``Cart.total``,
  ``SYSCALL(read, int, fd) {}`` is ``read`` (:mod:`fusesearch.code.other.macros`). ``SCENARIO("adds") {}`` has the
  name of the macro.
- Decorators, attributes, annotations and template headers belong to it; comments above it do not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fusesearch.code.other import nodes

NameOf = Callable[[Any], str | None]
SLASHES = rb"//[^\n]*|/\*.*?(?:\*/|\Z)"
"""Comments of most languages."""
_NESTED = rb"//[^\n]*|/\*(?:[^*/]|\*(?!/)|/(?!\*)|/\*.*?\*/)*+(?:\*/|\Z)"
"""The same where one comment may stand in another."""
_WORDS = frozenset({"if", "else", "for", "while", "do", "switch", "case", "return", "try", "catch", "throw"})


@dataclass(frozen=True)
class Language:
    """How to read functions from a syntax tree of one grammar.

    ``title`` is its name for people. ``functions`` and ``containers`` map a node type to a function that returns its name
    (``None``: not a function, or a container that adds nothing to names). ``bindings`` maps nodes that assign a value to a name
    to the fields of name and value. ``leading`` nodes come before a function as siblings and belong to it. ``keywords`` are
    words that a broken source is read to call a function; unless they are ``reserved``, they are names where nothing is broken.
    ``indented``: indentation can end a block, and the tree has all up to the next word in it. ``instead`` is another row that
    may read what this one cannot. ``opened`` are calls of macros with definitions inside. Of the text, :mod:`.recovery` needs
    what a file begins with (``start``), whether single ``quotes`` are around texts, and where the inside of a definition's
    ``block`` is, unless it is in braces. ``comments`` are a pattern.
    """

    title: str
    module: str
    suffixes: tuple[str, ...]
    functions: Mapping[str, NameOf]
    containers: Mapping[str, NameOf]
    bindings: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    values: frozenset[str] = frozenset()
    leading: frozenset[str] = frozenset()
    entry: str = "language"
    keywords: frozenset[str] = _WORDS
    reserved: bool = False
    indented: bool = False
    instead: str = ""
    opened: str = ""
    start: bytes = b""
    quotes: bool = False
    comments: bytes = SLASHES
    block: re.Pattern[bytes] | None = None


def _all(names: str, namer: NameOf) -> dict[str, NameOf]:
    return dict.fromkeys(names.split(), namer)


def _script(title: str, module: str, entry: str, *suffixes: str) -> Language:
    return Language(
        title,
        module,
        suffixes,
        _all(
            "function_declaration generator_function_declaration method_definition function_expression generator_function",
            nodes.with_body,
        ),
        _all("class_declaration abstract_class_declaration internal_module module", nodes.by_name)
        | {"class": nodes.class_expression},
        bindings=nodes.SCRIPT_BINDINGS,
        values=frozenset({"function_expression", "arrow_function", "generator_function"}),
        leading=frozenset({"decorator"}),
        entry=entry,
        instead="tsx" if title == "JavaScript" else "",
        quotes=True,
    )


_C_WORDS = _WORDS - {"try", "catch", "throw"} | {
    "goto", "sizeof", "void", "int", "char", "public", "private", "protected", "namespace", "class", "struct",
}  # fmt: skip

LANGUAGES: dict[str, Language] = {
    "javascript": _script("JavaScript", "tree_sitter_javascript", "language", ".js", ".jsx", ".mjs", ".cjs"),
    "typescript": _script("TypeScript", "tree_sitter_typescript", "language_typescript", ".ts", ".mts", ".cts"),
    "tsx": _script("TypeScript", "tree_sitter_typescript", "language_tsx", ".tsx"),
    "java": Language(
        "Java",
        "tree_sitter_java",
        (".java",),
        _all("method_declaration constructor_declaration compact_constructor_declaration", nodes.with_body),
        _all(
            "class_declaration interface_declaration enum_declaration enum_constant record_declaration"
            " annotation_type_declaration",
            nodes.by_name,
        ),
        reserved=True,
    ),
    "go": Language(
        "Go",
        "tree_sitter_go",
        (".go",),
        {"function_declaration": nodes.with_body, "method_declaration": nodes.go_method},
        {},
        bindings={"var_spec": ("name", "value")},
        values=frozenset({"func_literal"}),
    ),
    "rust": Language(
        "Rust",
        "tree_sitter_rust",
        (".rs",),
        {"function_item": nodes.with_body},
        {"mod_item": nodes.by_name, "trait_item": nodes.by_name, "impl_item": nodes.rust_type},
        opened="macro_invocation",
        leading=frozenset({"attribute_item"}),
        comments=_NESTED,
    ),
    "c": Language(
        "C",
        "tree_sitter_c",
        (".c",),
        {"function_definition": nodes.c_function},
        {},
        keywords=_C_WORDS,
        reserved=True,
        instead="cpp",
    ),
    "cpp": Language(
        "C++",
        "tree_sitter_cpp",
        (".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"),
        {"function_definition": nodes.c_function},
        _all("class_specifier struct_specifier union_specifier namespace_definition", nodes.c_scope),
        keywords=_C_WORDS | {"try", "catch", "throw", "template", "typename", "using"},
        reserved=True,
    ),
    "csharp": Language(
        "C#",
        "tree_sitter_c_sharp",
        (".cs",),
        {
            **_all("method_declaration constructor_declaration destructor_declaration", nodes.csharp_member),
            **_all("operator_declaration conversion_operator_declaration local_function_statement", nodes.csharp_member),
            **_all("property_declaration indexer_declaration event_declaration", nodes.csharp_accessors),
        },
        _all("class_declaration struct_declaration interface_declaration enum_declaration record_declaration", nodes.by_name),
        reserved=True,
    ),
    "ruby": Language(
        "Ruby",
        "tree_sitter_ruby",
        (".rb", ".rake"),
        _all("method singleton_method", nodes.by_name),
        {**_all("class module", nodes.by_name), "assignment": nodes.ruby_class},
        quotes=True,
        comments=rb"(?<![\w$])#(?!\{)[^\n]*|(?m:^=begin\b.*?^=end\b)",
        block=re.compile(rb"\s*[^\n]*\n(?P<inside>.*)\n[ \t]*end\b", re.DOTALL),
        keywords=frozenset(["def", "end", "class", "module", "if", "unless", "while", "until", "case", "begin", "do"]),
    ),
    "php": Language(
        "PHP",
        "tree_sitter_php",
        (".php",),
        {**_all("function_definition method_declaration", nodes.with_body), "property_declaration": nodes.php_hooks},
        _all("class_declaration interface_declaration trait_declaration enum_declaration", nodes.by_name),
        quotes=True,
        comments=SLASHES + rb"|(?<![\w$])#(?!\[)[^\n]*",
        start=b"<?php\n",
        entry="language_php",
    ),
    "kotlin": Language(
        "Kotlin",
        "tree_sitter_kotlin",
        (".kt", ".kts"),
        {
            "function_declaration": nodes.kotlin_function,
            "property_declaration": nodes.kotlin_property,
            "secondary_constructor": nodes.kotlin_constructor,
        },
        _all("class_declaration object_declaration companion_object enum_entry", nodes.kotlin_type),
        leading=frozenset({"annotated_expression"}),  # what tree-sitter-kotlin 1.1 sometimes makes of an annotation above
        comments=_NESTED,
    ),
    "swift": Language(
        "Swift",
        "tree_sitter_swift",
        (".swift",),
        {
            **_all("function_declaration init_declaration deinit_declaration subscript_declaration", nodes.swift_member),
            "property_declaration": nodes.swift_property,
        },
        _all("class_declaration protocol_declaration", nodes.swift_type),
        keywords=frozenset(),  # `func` stands before every name
        comments=_NESTED,
    ),
    "scala": Language(
        "Scala",
        "tree_sitter_scala",
        (".scala", ".sc"),
        _all("function_definition given_definition", nodes.scala_function),
        {
            **_all("class_definition object_definition trait_definition enum_definition package_object", nodes.scala_scope),
            "given_definition": nodes.scala_scope,
            "extension_definition": nodes.scala_extension,
            "val_definition": nodes.scala_value,
        },
        keywords=frozenset(),
        comments=_NESTED,
        indented=True,
        block=re.compile(
            rb"(?m)\s*^([ \t]*)(?=\S)[^{]*?[:=][ \t]*\n(?P<inside>(?=\s*^\1[ \t]+\S)(?:.*\n)*\1[ \t]+\S.*)"
        ),  # what is deeper, below a line that ends with a colon or an equals sign
    ),
}
"""All languages parsed with tree-sitter; Python has its own parser."""

_BY_SUFFIX = {suffix: name for name, language in LANGUAGES.items() for suffix in language.suffixes}
SUFFIXES = (*_BY_SUFFIX, ".h")
"""Suffixes of all of them."""
_CPP = re.compile(r"^[ \t]*(?:class|namespace|template|using|public:|private:|protected:)\b|\w::\w", re.MULTILINE)


def language_of(path: str, source: str = "") -> str | None:
    """The row of :data:`LANGUAGES` for a file, by its suffix; ``.h`` is C++ if its text has syntax that C lacks."""
    suffix = path[path.rfind(".") :].lower() if "." in path else ""
    if suffix == ".h":
        return "cpp" if _CPP.search(source) else "c"
    return _BY_SUFFIX.get(suffix)
