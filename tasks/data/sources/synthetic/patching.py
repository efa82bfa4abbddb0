"""Put a mutated function into the running process."""

from __future__ import annotations
import __future__

import ast
import gc
from collections.abc import Iterable
from types import CodeType, FunctionType

from tasks.data.sources.synthetic.mutations import split_lines
from tasks.data.sources.synthetic.tracing import Function, FunctionNode

Key = tuple[str, str, int]


class NotPatchable(Exception):
    """The mutated function cannot replace the live one (it captures other variables, or is not there)."""


def live_functions(filenames: Iterable[str]) -> dict[Key, list[FunctionType]]:
    """Function objects of the given files by (filename, qualified name, first line), however they are wrapped."""
    wanted = set(filenames)
    found: dict[Key, list[FunctionType]] = {}
    for thing in gc.get_objects():
        if type(thing) is FunctionType and thing.__code__.co_filename in wanted:
            code = thing.__code__
            found.setdefault((code.co_filename, code.co_qualname, code.co_firstlineno), []).append(thing)
    return found


def future_flags(tree: ast.Module) -> int:
    """Compiler flags of the module's ``from __future__`` imports."""
    names = [
        alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        for alias in node.names
    ]
    return sum({getattr(__future__, name).compiler_flag for name in names if hasattr(__future__, name)})


def mutated_node(text: str, function: Function, lines_added: int) -> FunctionNode:
    """The function's tree in the mutated file, with that file's line numbers. Raises ``SyntaxError``."""
    lines = split_lines(text)[function.start - 1 : function.end + lines_added]
    indented = lines[0][:1].isspace()
    if not indented:
        tree = ast.parse("\n" * (function.start - 1) + "".join(lines))
        node = tree.body[0]
    else:
        padding = "\n" * (function.start - 2) + "if 1:\n"
        holder = ast.parse(padding + "".join(lines)).body[0]
        node = holder.body[0]  # type: ignore[attr-defined]
    if not isinstance(node, FunctionNode):
        raise SyntaxError("not a function")
    return node


def compiled(node: FunctionNode, function: Function, filename: str, flags: int) -> CodeType:
    """Code of the function alone, as if compiled inside its classes. Raises :class:`NotPatchable`."""
    statement: ast.stmt = node
    for name in reversed(function.name.split(".")[:-1]):
        statement = _class_around(statement, name)
    module = ast.fix_missing_locations(ast.Module(body=[statement], type_ignores=[]))
    code: CodeType | None = compile(module, filename, "exec", flags=flags, dont_inherit=True)
    for name in function.name.split("."):
        code = next((c for c in (code.co_consts if code else ()) if isinstance(c, CodeType) and c.co_name == name), None)
    if code is None:
        raise NotPatchable(function.entity)
    return code


def _class_around(statement: ast.stmt, name: str) -> ast.ClassDef:
    node = ast.ClassDef(name=name, bases=[], keywords=[], body=[statement], decorator_list=[])
    setattr(node, "type_params", [])  # noqa: B010  Python 3.12 requires it, the stubs for 3.11 do not know it
    return node


def replace_function(functions: list[FunctionType], code: CodeType, node: FunctionNode) -> None:
    """Give live functions the new code and constant defaults. Raises :class:`NotPatchable`."""
    if not functions or any(f.__code__.co_freevars != code.co_freevars for f in functions):
        raise NotPatchable(code.co_qualname)
    for function in functions:
        function.__code__ = code
        function.__defaults__ = _positional(function.__defaults__, node.args.defaults)
        function.__kwdefaults__ = _keywords(function.__kwdefaults__, node.args)


def _positional(old: tuple[object, ...] | None, nodes: list[ast.expr]) -> tuple[object, ...] | None:
    if old is None or len(old) != len(nodes):
        return old
    return tuple(n.value if isinstance(n, ast.Constant) else value for value, n in zip(old, nodes, strict=True))


def _keywords(old: dict[str, object] | None, arguments: ast.arguments) -> dict[str, object] | None:
    if not old:
        return old
    new = {
        a.arg: d.value for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if isinstance(d, ast.Constant)
    }
    return {name: new.get(name, value) for name, value in old.items()}
