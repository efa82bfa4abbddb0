"""Insert and remove members of objects in JSON with comments and trailing commas; all other characters stay.

The grammar of JavaScript finds where members begin and end. What JSON does not have is refused.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fusesearch.core.errors import DataError

if TYPE_CHECKING:
    from tree_sitter import Node


class Object(dict[str, Any]):
    """Values by name, each an :class:`Object` or a node; ``node`` is the object's own. Of equal names the last counts."""

    def __init__(self, node: Node, members: dict[str, Any]) -> None:
        super().__init__(members)
        self.node = node


class Document:
    """A text whose top is an object, ``root``. Raises :class:`DataError` if it is not."""

    def __init__(self, text: str) -> None:
        import tree_sitter_javascript
        from tree_sitter import Language, Parser

        self._mark, body = ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)
        self._bytes = f"({body}\n)".encode()
        tree = Parser(Language(tree_sitter_javascript.language())).parse(self._bytes)
        try:
            self.root = self._object(_only_object(tree.root_node))
            for member in self.root.values():
                self.value(member)
        except RecursionError:
            raise DataError("not valid JSON (too deep)") from None

    def value(self, member: Any) -> Any:
        """A value of ``root`` or below as Python has it."""
        if isinstance(member, Object):
            return {name: self.value(one) for name, one in member.items()}
        if member.type == "array":
            return [self.value(self._member(one)) for one in _separated(member)]
        if member.type in {"string", "number", "unary_expression", "true", "false", "null"}:
            try:
                return json.loads(self._text(member))
            except ValueError:
                pass
        raise _damaged(member)

    def inserted(self, where: Object, name: str, value: Any) -> str:
        """The text with a new first member: on lines of its own if the object's members are, else on the same line.

        A new object has blanks inside its braces and one that was empty has none, so that removal can tell them apart.
        """
        brace, following = where.node.children[0], where.node.children[1]
        blank = self._bytes[brace.end_byte : following.start_byte].decode()
        comma = "," if where else ""
        if "\n" not in blank or (where is not self.root and not where):
            body = json.dumps(value, ensure_ascii=False)
            added = f"{json.dumps(name)}: {body if where is not self.root else f'{{ {body[1:-1]} }}'}{comma}"
        else:
            newline = "\r\n" if "\r\n" in blank else "\n"
            unit = self._indent(self.root.node) or "  "
            indent = self._indent(where.node) or self._line_indent(brace.start_byte) + unit
            body = json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", newline + indent)
            added = f"{newline}{indent}{json.dumps(name)}: {body}{comma}"
        return self._with((brace.end_byte, brace.end_byte), added)

    def without(self, where: Object, name: str) -> str:
        """The text without a member, the blanks before it, and one comma."""
        parts = where.node.children
        at = max(index for index, part in enumerate(parts) if part.type == "pair" and self._name(part) == name)
        span = (parts[at - 1].end_byte, parts[at].end_byte)
        tokens = [index for index, part in enumerate(parts) if part.type != "comment"]
        before, after = (parts[tokens[tokens.index(at) + step]] for step in (-1, 1))
        comma = after if after.type == "," else before if before.type == "," else None
        if comma is None:
            return self._with(span)
        return self._with(span, "", (comma.start_byte, comma.end_byte))

    def _with(self, span: tuple[int, int], added: str = "", also: tuple[int, int] = (0, 0)) -> str:
        """The text with ``added`` in place of a span, and without another span."""
        changed = self._bytes
        for (start, end), text in sorted([(span, added.encode()), (also, b"")], reverse=True):
            changed = changed[:start] + text + changed[end:]
        return self._mark + changed[1:-2].decode()

    def _object(self, node: Node) -> Object:
        return Object(node, {self._name(pair): self._member(pair.child_by_field_name("value")) for pair in _separated(node)})

    def _member(self, node: Node | None) -> Any:
        assert node is not None  # noqa: S101 - a pair without an error has a value
        return self._object(node) if node.type == "object" else node

    def _name(self, pair: Node) -> str:
        key = pair.child_by_field_name("key")
        if pair.type != "pair" or key is None or key.type != "string":
            raise _damaged(pair)
        return str(self.value(key))

    def _text(self, node: Node) -> str:
        return self._bytes[node.start_byte : node.end_byte].decode()

    def _indent(self, node: Node) -> str:
        """Blanks before the first member or comment of an object; empty if it is on the line of the brace."""
        first = node.children[1]
        blank = self._bytes[node.children[0].end_byte : first.start_byte].decode()
        return blank.rpartition("\n")[2] if "\n" in blank and first.type != "}" else ""

    def _line_indent(self, place: int) -> str:
        line = self._bytes[self._bytes.rfind(b"\n", 0, place) + 1 : place].decode().removeprefix("(")
        return line[: len(line) - len(line.lstrip())]


def _only_object(top: Node) -> Node:
    """The object that is the whole of ``({...})``."""
    node = top
    if node.has_error:
        raise _damaged(_fault(node))
    for kind in ("program", "expression_statement", "parenthesized_expression"):
        inner = [child for child in node.named_children if child.type != "comment"]
        if node.type != kind or len(inner) != 1:
            raise DataError("not a JSON object")
        node = inner[0]
    if node.type != "object":
        raise DataError("not a JSON object")
    return node


def _separated(node: Node) -> list[Node]:
    """Items of an object or array. Raises :class:`DataError` where commas do not stand one between two items."""
    items: list[Node] = []
    comma = True
    for part in node.children[1:-1]:
        if part.type == "comment":
            continue
        if (part.type == ",") is comma:
            raise _damaged(part)
        comma = part.type == ","
        if not comma:
            items.append(part)
    return items


def _fault(node: Node) -> Node:
    """The first part that cannot be read."""
    while (child := next((child for child in node.children if child.has_error or child.is_missing), None)) is not None:
        node = child
    return node


def _damaged(node: Node) -> DataError:
    return DataError(f"not valid JSON (line {node.start_point.row + 1})")
