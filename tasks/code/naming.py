"""How functions and what holds them are named in a tree-sitter syntax tree; ``None`` where a node is no function.

Names are single components or dotted ones (``Outer.method``), without type parameters, pointers and blanks. Nodes are
``tree_sitter.Node``; what they lack in broken sources gives ``None``.
"""

from __future__ import annotations

import re
from typing import Any

_MAX_CHARS = 200
_LAYERS = 64  # of declarators in one another, as in a pointer to a function that returns a pointer to ...
_EXPORTS = re.compile(r"^(?:module\.exports|exports|this)(?:\.|$)")


def text_of(node: Any) -> str:
    """Source of a node without blanks, cut at a length no real name has."""
    raw = node.text[: 4 * _MAX_CHARS].decode("utf-8", "replace") if node is not None else ""
    return "".join(raw.split())[:_MAX_CHARS]


def by_name(node: Any) -> str | None:
    """Its field ``name``, dotted; a name in quotes (a TypeScript module, a property) without them."""
    return _plain(node.child_by_field_name("name")) or None


def with_body(node: Any) -> str | None:
    """As :func:`by_name`, if the node has a field ``body``."""
    return by_name(node) if node.child_by_field_name("body") else None


def exported(node: Any) -> str | None:
    """Of a function expression: ``default`` if it is a module's default export, else none."""
    return "default" if node.parent is not None and node.parent.type == "export_statement" else None


def bound_name(node: Any, field: str) -> str | None:
    """Name of the variable, property or key in a binding: ``Foo.prototype.bar`` is ``Foo.bar``, ``exports.f`` is ``f``.

    ``None`` where it has no fixed name (a pattern, a computed key); empty for ``module.exports`` itself.
    """
    target = node.child_by_field_name(field)
    if target is None or target.type in ("computed_property_name", "subscript_expression") or target.type.endswith("_pattern"):
        return None
    name = _EXPORTS.sub("", _plain(target)).replace(".prototype", "")
    return name if re.fullmatch(r"[^()\[\]{}=<>]*", name) else None


def go_method(node: Any) -> str | None:
    """``Type.method``, whether the receiver is a pointer, generic or unnamed."""
    name, receiver = with_body(node), node.child_by_field_name("receiver")
    if name is None or receiver is None:
        return name
    match = re.search(r"(\w+)(?:\[.*)?,?\)$", _words(receiver))
    return f"{match[1]}.{name}" if match else name


def rust_type(node: Any) -> str | None:
    """The type an ``impl`` block is for, without its path and parameters."""
    target = node.child_by_field_name("type")
    while target is not None and target.type in ("generic_type", "reference_type", "scoped_type_identifier", "pointer_type"):
        target = target.child_by_field_name("name" if target.type == "scoped_type_identifier" else "type")
    return text_of(target).replace(".", "") or None


def c_scope(node: Any) -> str | None:
    """Name of a class, struct, union or namespace: dotted if nested, without template arguments; none if unnamed."""
    name = node.child_by_field_name("name")
    return _c_parts(name) if name is not None else None


def c_function(node: Any) -> str | None:
    """Name inside the declarators of a definition that has a body, with the scopes written before it."""
    if not node.child_by_field_name("body"):
        return None
    inner = node
    for _ in range(_LAYERS):
        deeper = inner.child_by_field_name("declarator")
        if deeper is None and inner.type in ("parenthesized_declarator", "reference_declarator", "attributed_declarator"):
            deeper = next((child for child in inner.named_children if child.type.endswith(("declarator", "identifier"))), None)
        if inner.type == "operator_cast" or deeper is None:
            break
        inner = deeper
    return _c_parts(inner) or None if inner is not node else None


def _c_parts(node: Any) -> str:
    parts: list[str] = []
    for _ in range(_LAYERS):
        if node is None or node.type != "qualified_identifier":
            break
        scope = node.child_by_field_name("scope")
        parts += [_c_simple(scope)] if scope is not None else []
        node = node.child_by_field_name("name")
    return ".".join(filter(None, [*parts, _c_simple(node)]))


def _c_simple(node: Any) -> str:
    if node is None:
        return ""
    if node.type in ("template_type", "template_function", "template_method"):
        return text_of(node.child_by_field_name("name"))
    if node.type == "operator_cast":
        return f"operator {text_of(node.child_by_field_name('type'))}"
    return text_of(node).replace("::", ".")


def csharp_member(node: Any) -> str | None:
    """A method, constructor, destructor or operator with a body."""
    if not node.child_by_field_name("body"):
        return None
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


def kotlin_function(node: Any) -> str | None:
    """A function with a body; an extension is named through the type it extends."""
    kinds = [child.type for child in node.children]
    if "function_body" not in kinds:
        return None
    name = by_name(node)
    if name and "." in kinds:
        receiver = re.match(r"[\w.]*", text_of(node.children[kinds.index(".") - 1]))
        return f"{receiver[0].rpartition('.')[2]}.{name}" if receiver and receiver[0] else name
    return name


def kotlin_property(node: Any) -> str | None:
    """A property with a getter or setter of its own that has a body."""
    accessors = [child for child in node.named_children if child.type in ("getter", "setter")]
    if not any(part.type == "function_body" for accessor in accessors for part in accessor.named_children):
        return None
    variable = next((child for child in node.named_children if child.type == "variable_declaration"), None)
    first = variable.named_children[0] if variable is not None and variable.named_children else None
    return text_of(first) or None


def kotlin_constructor(node: Any) -> str | None:
    """A secondary constructor, ``constructor``, if it has a body."""
    return "constructor" if any(child.type in ("block", "function_body") for child in node.named_children) else None


def kotlin_type(node: Any) -> str | None:
    """Name of a class, object or enum entry, whether or not the grammar makes it a field."""
    name = by_name(node)
    if name:
        return name
    first = next((child for child in node.named_children if child.type == "identifier"), None)
    return text_of(first) or None


def _plain(node: Any) -> str:
    name = text_of(node).replace("::", ".").replace("?.", ".")
    return name.strip("'\"`") if name[:1] in ("'", '"', "`") else name


def _words(node: Any) -> str:
    """Source of a node with its blanks made single."""
    return " ".join(node.text[: 4 * _MAX_CHARS].decode("utf-8", "replace").split())
