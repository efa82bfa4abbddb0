"""Names of functions and of what holds them, from nodes of tree-sitter, which is imported only where files are parsed.

Names are plain or dotted, without type parameters, pointers and blanks. ``None`` for a node that is not a function, and for
incomplete nodes in broken sources.
"""

from __future__ import annotations

import re
from typing import Any

_MAX_CHARS = 200
_LAYERS = 64  # of nested declarators, as in a pointer to a function that returns a pointer to ...
_EXPORTS = re.compile(r"^(?:module\.exports|exports|this)(?:\.|$)")
SCRIPT_BINDINGS = {
    "export_statement": ("", "value"),
    "variable_declarator": ("name", "value"),
    "assignment_expression": ("left", "right"),
    "augmented_assignment_expression": ("left", "right"),
    "pair": ("key", "value"),
    "field_definition": ("property", "value"),
    "public_field_definition": ("name", "value"),
}


def text_of(node: Any) -> str:
    """Source of a node without blanks, cut to a length longer than any real name."""
    raw = node.text[: 4 * _MAX_CHARS].decode("utf-8", "replace") if node is not None else ""
    return "".join(raw.split())[:_MAX_CHARS]


def by_name(node: Any) -> str | None:
    """The field ``name``, dotted, without quotes (around a TypeScript module or a property)."""
    return _unquoted(node.child_by_field_name("name")) or None


def with_body(node: Any) -> str | None:
    """As :func:`by_name`, if the node has a field ``body``."""
    return by_name(node) if node.child_by_field_name("body") else None


_AROUND = ("parenthesized_expression", "expression_list", "as_expression", "satisfies_expression", "non_null_expression")


def bare(value: Any) -> Any:
    """A value without parentheses, TypeScript's ``as`` and ``satisfies``, and Go's list of one expression."""
    while value.type in _AROUND and value.named_child_count and (value.type != "expression_list" or value.named_child_count == 1):
        value = value.named_children[0]
    return value


def bound_name(node: Any, field: str) -> str | None:
    """Name of the variable, property or key in a binding: ``Foo.prototype.bar`` is ``Foo.bar``, ``exports.f`` is ``f``.

    ``None`` without a fixed name (a pattern, a computed key); empty for ``module.exports`` itself.
    """
    target = node.child_by_field_name(field)
    if target is None or target.type == "computed_property_name" or target.type.endswith("_pattern"):
        return None
    name = _EXPORTS.sub("", _target(target)).replace(".prototype", "")
    return name if re.fullmatch(r"[^()\[\]{}=<>]*", name) else None


def _target(node: Any) -> str:
    """What a value is assigned to: ``window.f`` for ``(window as any)['f']``."""
    index = node.child_by_field_name("index")
    last = node.child_by_field_name("property") if index is None else index if index.type == "string" else None
    owner = node.child_by_field_name("object")
    if last is None or owner is None:
        return _unquoted(node)
    return f"{_target(bare(owner))}.{_unquoted(last)}"


def class_expression(node: Any) -> str | None:
    """Its own name, if it is not assigned to another."""
    parent = node.parent
    field = SCRIPT_BINDINGS[parent.type][0] if parent is not None and parent.type in SCRIPT_BINDINGS else ""
    return None if field and bound_name(parent, field) else by_name(node)


def go_method(node: Any) -> str | None:
    """``Type.method``, also if the receiver is a pointer, generic or unnamed."""
    name, receiver = with_body(node), node.child_by_field_name("receiver")
    if name is None or receiver is None:
        return name
    source = " ".join(receiver.text[: 4 * _MAX_CHARS].decode("utf-8", "replace").split())
    match = re.search(r"(\w+)(?:\[.*)?,?\)$", source)
    return f"{match[1]}.{name}" if match else name


def rust_type(node: Any) -> str | None:
    """The type an ``impl`` block is for, without its path and parameters."""
    target = node.child_by_field_name("type")
    while target is not None and target.type in ("generic_type", "reference_type", "scoped_type_identifier", "pointer_type"):
        target = target.child_by_field_name("name" if target.type == "scoped_type_identifier" else "type")
    if target is not None and target.type == "dynamic_type":
        return "dyn" + re.sub(r"\w+::", "", text_of(target).removeprefix("dyn")).replace(".", "")
    return text_of(target).replace(".", "") or None


def c_scope(node: Any) -> str | None:
    """Name of a class, struct, union or namespace: dotted if nested, without template arguments; None if unnamed."""
    name = node.child_by_field_name("name")
    return _c_parts(name) if name is not None else None


def c_function(node: Any) -> str | None:
    """Name inside the declarators of a definition with a body, including the scopes before it.

    ``None`` without parameters: what a class behind a macro is read as. A macro's call with a body has the macro's name.
    """
    if not node.child_by_field_name("body") and not any(child.type == "try_statement" for child in node.named_children):
        return None
    inner, parameters, called = node, False, node.child_by_field_name("type")
    if called is not None and node.child_by_field_name("declarator").type == "parenthesized_declarator":
        return text_of(called)  # TEST_BEGIN(name) {
    for _ in range(_LAYERS):
        parameters = parameters or inner.type in ("function_declarator", "operator_cast")
        deeper = inner.child_by_field_name("declarator")
        if deeper is None and inner.type in ("parenthesized_declarator", "reference_declarator", "attributed_declarator"):
            deeper = next((child for child in inner.named_children if child.type.endswith(("declarator", "identifier"))), None)
        if inner.type == "operator_cast" or deeper is None:
            break
        inner = deeper
    last = inner
    while last is not None and last.type == "qualified_identifier":
        last = last.child_by_field_name("name")
    parameters = parameters or (last is not None and last.type == "operator_cast")
    return (_c_parts(inner) if parameters else "") or None


def _c_parts(node: Any) -> str:
    parts: list[str] = []
    for _ in range(_LAYERS):
        if node is None or node.type != "qualified_identifier":
            break
        scope = node.child_by_field_name("scope")
        parts += [_c_simple(scope)] if scope is not None and not any(child.is_missing for child in node.children) else []
        node = node.child_by_field_name("name")
    if any(part.startswith("template<") for part in parts):  # a broken source: a class up to the next function
        return ""
    return ".".join(filter(None, [*parts, _c_simple(node)]))


def _c_simple(node: Any) -> str:
    if node is None:
        return ""
    if node.type in ("template_type", "template_function", "template_method"):
        return text_of(node.child_by_field_name("name"))
    if node.type == "nested_namespace_specifier":  # a::inline b
        return ".".join(map(_c_simple, node.named_children))
    if node.type == "operator_cast":
        return f"operator {text_of(node.child_by_field_name('type'))}"
    return re.sub(r"^operator(?=(?:new|delete)\b)", "operator ", text_of(node).replace("::", "."))


def csharp_member(node: Any) -> str | None:
    """A method, constructor, destructor or operator with a body."""
    if not node.child_by_field_name("body"):
        return None
    if node.type == "constructor_declaration" and by_name(node) == "extension":
        return None  # of C# 14, whose members are those of the class
    if node.type == "operator_declaration":
        return f"operator {text_of(node.child_by_field_name('operator'))}"
    if node.type == "conversion_operator_declaration":
        return f"operator {text_of(node.child_by_field_name('type'))}"
    name = by_name(node)
    return f"~{name}" if name and node.type == "destructor_declaration" else name


def csharp_accessors(node: Any) -> str | None:
    """A property, indexer (``this``) or event, if one of its accessors has a body."""
    listed = node.child_by_field_name("accessors")
    accessors = listed.named_children if listed is not None else []
    value = node.child_by_field_name("value")
    arrow = value is not None and value.type == "arrow_expression_clause"
    if not arrow and not any(accessor.child_by_field_name("body") for accessor in accessors):
        return None
    return "this" if node.type == "indexer_declaration" else by_name(node)


def php_hooks(node: Any) -> str | None:
    """A property one of whose hooks has a body (PHP 8.4), without its ``$``."""
    hooks = [hook for part in node.named_children if part.type == "property_hook_list" for hook in part.named_children]
    if not any(child.type in ("compound_statement", "=>") for hook in hooks for child in hook.children):
        return None
    element = next((part for part in node.named_children if part.type == "property_element"), None)
    return text_of(element).lstrip("$").partition("=")[0] or None


def kotlin_function(node: Any) -> str | None:
    """A function with a body; the name of an extension starts with the type it extends."""
    return _extension(node, by_name(node)) if any(child.type == "function_body" for child in node.children) else None


def _extension(node: Any, name: str | None) -> str | None:
    kinds = [child.type for child in node.children]
    receiver = re.match(r"[\w.]*", text_of(node.children[kinds.index(".") - 1])) if name and "." in kinds else None
    return f"{receiver[0].rpartition('.')[2]}.{name}" if receiver and receiver[0] else name


def kotlin_property(node: Any) -> str | None:
    """A property whose own getter or setter has a body."""
    accessors = [child for child in node.named_children if child.type in ("getter", "setter")]
    if not any(part.type == "function_body" for accessor in accessors for part in accessor.named_children):
        return None
    variable = next((child for child in node.named_children if child.type == "variable_declaration"), None)
    first = variable.named_children[0] if variable is not None and variable.named_children else None
    return _extension(node, text_of(first) or None)


def kotlin_constructor(node: Any) -> str | None:
    """A secondary constructor, ``constructor``, if it has a body."""
    return "constructor" if any(child.type in ("block", "function_body") for child in node.named_children) else None


def kotlin_type(node: Any) -> str | None:
    """Name of a class, object or enum entry, whether or not the grammar makes it a field."""
    first = next((child for child in node.named_children if child.type == "identifier"), None)
    return by_name(node) or text_of(first) or None


def swift_type(node: Any) -> str | None:
    """Name of a class, structure, enum, actor or protocol, or the type that an extension is for, without type arguments."""
    return re.sub(r"<.*>", "", by_name(node) or "") or None


_SWIFT_WORDS = {"init_declaration": "init", "deinit_declaration": "deinit", "subscript_declaration": "subscript"}


def swift_member(node: Any) -> str | None:
    """A function, or ``init``, ``deinit`` or ``subscript``, with a body. Operators have their signs as names."""
    if node.type == "subscript_declaration":
        computed = next((child for child in node.named_children if child.type == "computed_property"), None)
        return "subscript" if computed is not None and _computes(computed) else None
    if not node.child_by_field_name("body"):
        return None
    return _SWIFT_WORDS.get(node.type) or _signed(node.child_by_field_name("name"))


def swift_property(node: Any) -> str | None:
    """A property with a computed value or an observer."""
    computed = node.child_by_field_name("computed_value")
    observed = any(child.type == "willset_didset_block" for child in node.named_children)
    if not observed and (computed is None or not _computes(computed)):
        return None
    return _signed(node.child_by_field_name("name"))


def _computes(node: Any) -> bool:
    """Whether a computed property has a body, not just ``{ get set }`` as in a protocol."""
    accessors = [child for child in node.named_children if child.type.startswith("computed_")]
    return not accessors or any(part.type == "{" for accessor in accessors for part in accessor.children)


def scala_function(node: Any) -> str | None:
    """A ``def`` with a body, or a ``given`` with parameters whose value is an expression; operators have their signs as names."""
    body, given = node.child_by_field_name("body"), node.type == "given_definition"
    of_class = body is not None and body.type in ("with_template_body", "template_body")
    if body is None or (given and (of_class or not node.child_by_field_name("parameters"))):
        return None
    return scala_scope(node)


def scala_scope(node: Any) -> str | None:
    """A class, object, trait, enum, package object or ``given``."""
    return _given(node) if node.type == "given_definition" else _signed(node.child_by_field_name("name"))


def scala_value(node: Any) -> str | None:
    """The name of a value that is a new instance with a body of its own: ``val show = new Show[Int] { def ... }``."""
    value, name = node.child_by_field_name("value"), node.child_by_field_name("pattern")
    if value is None or name is None or value.type != "instance_expression" or name.type != "identifier":
        return None
    return _signed(name)


def scala_extension(node: Any) -> str | None:
    """The type of the parameter that an extension is for, without its path and arguments."""
    for parameters in node.children_by_field_name("parameters"):
        if parameters.type == "parameters" and not any(child.type == "using" for child in parameters.children):
            parameter = parameters.named_children[0] if parameters.named_children else None
            return _scala_class(parameter.child_by_field_name("type")) if parameter is not None else None
    return None


def _scala_class(node: Any) -> str | None:
    if node is not None and node.type == "generic_type":
        node = node.child_by_field_name("type")
    if node is None or node.type not in ("type_identifier", "stable_type_identifier"):
        return None
    return text_of(node).rpartition(".")[2] or None


def _given(node: Any) -> str | None:
    """Its name, or that which the compiler makes of its type: ``given_Ord_List`` for ``given Ord[List[Int]]``."""
    if name := node.child_by_field_name("name"):
        return _signed(name)
    target = node.child_by_field_name("return_type")
    inner = target.child_by_field_name("type_arguments") if target is not None else None
    own = {text_of(name) for part in node.named_children if part.type == "type_parameters" for name in part.named_children}
    own = {re.split(r"\W", name)[0] for name in own}
    classes = [_scala_class(one) for one in ([target, *inner.named_children] if inner is not None else [target])]
    parts = [one for one in classes if one and one not in own]
    return "_".join(["given", *parts]) if parts else None


def _signed(node: Any) -> str | None:
    """A name as it is written, colons included, without backticks."""
    name = text_of(node)
    return (_unquoted(node) if name.startswith("`") else name) or None


_RUBY_CLASSES = {"Struct.new", "Data.define", "Class.new", "Module.new"}


def ruby_class(node: Any) -> str | None:
    """The constant that a class made by a call is assigned to: ``Point = Struct.new(:x) do``."""
    call = node.child_by_field_name("right")
    if call is None or call.type != "call":
        return None
    called = f"{text_of(call.child_by_field_name('receiver'))}.{text_of(call.child_by_field_name('method'))}"
    return _unquoted(node.child_by_field_name("left")) if called in _RUBY_CLASSES else None


def _unquoted(node: Any) -> str:
    name = text_of(node)
    if name[:1] in ("'", '"', "`") and len(name) > 1:  # Ruby has a method `
        return " ".join(node.text[:_MAX_CHARS].decode("utf-8", "replace").split()).strip("'\"`")
    return name.replace("::", ".").replace("?.", ".")
