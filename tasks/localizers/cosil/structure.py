"""What CoSIL shows of files as lists: classes with their methods, functions, and which files import which."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tasks.code.modules import Outlines
from tasks.code.outline import Outline
from tasks.code.tree import cut

MAX_OUTSIDE = 20
NONE = "none"


def structure_list(outlines: Outlines, paths: Sequence[str], chars: int) -> str:
    """Per file its classes, the functions outside of them, and the methods of each class; files share ``chars`` evenly."""
    share = max(chars // max(len(paths), 1), 300)
    blocks = (_structure(path, outlines.get(path)) for path in paths)
    return "\n".join(cut(block, share, "of this file") for block in blocks)


def import_list(outlines: Outlines, paths: Sequence[str], chars: int) -> str:
    """Per file which files of the repository it imports, what else, and which of the other files import it."""
    inside = {path: imported_files(outlines, path) for path in paths}
    share = max(chars // max(len(paths), 1), 300)
    return "\n".join(cut(_imports(outlines, path, inside), share, "of this file") for path in paths)


def imported_files(outlines: Outlines, path: str) -> list[str]:
    """Files of the repository that a file imports, or imports something from, in the order of its imports."""
    outline = outlines.get(path)
    found = (outlines.module_of(path, item) for item in (outline.imports if outline else ()))
    return list(dict.fromkeys(target for target in found if target and target != path))


def _structure(path: str, outline: Outline | None) -> str:
    if outline is None:
        return f"file: {path}\n  (cannot be read)"
    classes = [span.name for span in outline.classes]
    held = {span.name: outline.members(span.name) for span in outline.classes}
    in_class = {member.name for members in held.values() for member in members}
    functions = [span.name for span in outline.functions if span.name not in in_class]
    rows = [f"file: {path}", f"  classes: {_names(classes)}", f"  functions outside of classes: {_names(functions)}"]
    rows += [
        f"  methods of {name}: {_names(member.name.rpartition('.')[2] for member in members)}" for name, members in held.items()
    ]
    return "\n".join(rows)


def _imports(outlines: Outlines, path: str, inside: dict[str, list[str]]) -> str:
    outline = outlines.get(path)
    items = outline.imports if outline else ()
    others = (item.module for item in items if not item.level and item.module and not outlines.module_of(path, item))
    outside = list(dict.fromkeys(name.partition(".")[0] for name in others))[:MAX_OUTSIDE]
    users = [other for other, targets in inside.items() if path in targets]
    return (
        f"file: {path}\n  imports of the project: {_names(inside[path])}\n  imports from outside: {_names(outside)}"
        f"\n  imported by, of these files: {_names(users)}"
    )


def _names(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names)) or NONE
