"""What DVC sees of the code: ``python -m tasks.code``, the first stage, writes one small file of digests for each other stage.

A stage depends on the modules that its function imports, directly or not, also inside functions and as strings, on the localizers
that the params have it run, and on files beside these modules, such as prompts. Of a module counts its syntax alone: comments,
docstrings and layout change no digest. What only other languages need counts where the data have such files.
"""

from __future__ import annotations

import ast
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import md5
from pathlib import Path
from typing import NamedTuple

from fusesearch.core.config import Params, load_params
from fusesearch.core.digests import file_digest, files_below
from fusesearch.core.storage import write_text
from fusesearch.localizers.registry import paths_of
from tasks.stages import STAGES, Stage

FOLDER = Path(".fusesearch/code")
PACKAGES = ("fusesearch", "tasks")
OTHER_LANGUAGES = "fusesearch/code/other/"
DECIDES_NOTHING = (
    "fusesearch/__init__.py",  # names of modules that stages import themselves where they need them
    "fusesearch/core/config/__init__.py",  # its defaults are in params.yaml and in the files of nodes, which a test checks
    "fusesearch/core/caches.py",
    "fusesearch/core/child.py",
    "fusesearch/core/overrides.py",
    "fusesearch/core/errors.py",
    "fusesearch/core/installation.py",
    "fusesearch/evaluation/names.py",
    "fusesearch/localizers/registry.py",
    "tasks/code.py",
    "tasks/stages.py",
    "tasks/running/",
)
"""Modules and folders that say where and with which params a stage runs, not what it makes."""


class Source(NamedTuple):
    """What counts of a module: the digest of its syntax, and the dotted names that it imports when it runs."""

    digest: str
    imports: tuple[str, ...]


def code_file(stage: str) -> Path:
    """The file with the digests of a stage's code."""
    return FOLDER / f"{stage}.txt"


def code_text(stage: Stage, params: Params) -> str:
    """The digests of a stage's code as it is now, a line per file."""
    run = [stage.run, *(path for name in stage.localizers(params) for path in paths_of(name))]
    left_out = DECIDES_NOTHING if stage.other_languages(params) else (*DECIDES_NOTHING, OTHER_LANGUAGES)
    found = code_of((where.partition(":")[0] for where in run), left_out=left_out)
    for path in map(Path, stage.code):
        found |= {path} if path.is_file() else {*files_below(path)}
    return "".join(f"{digest_of(path)}  {path.as_posix()}\n" for path in sorted(found))


def write_code(params: Params, stages: Iterable[str] = STAGES) -> None:
    """Write the files of stages that are out of date."""
    for name in stages:
        path, text = code_file(name), code_text(STAGES[name], params)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            write_text(path, text)


def code_of(modules: Iterable[str], root: Path = Path(), left_out: tuple[str, ...] = DECIDES_NOTHING) -> set[Path]:
    """The modules that modules are made of, and the files beside these that are no Python."""
    found: set[Path] = set()
    pending, seen = [*modules], set[str]()
    while pending:
        name = pending.pop()
        path = None if name in seen else _file(name, root)
        seen.add(name)
        if path is not None and not path.relative_to(root).as_posix().startswith(left_out):
            found.add(path)
            pending += read(path.read_bytes()).imports
    return found | {file for folder in {path.parent for path in found} for file in _data(folder)}


def digest_of(path: Path) -> str:
    """The digest of a module's syntax, or of the bytes of another file."""
    return read(path.read_bytes()).digest if path.suffix == ".py" else file_digest(path)


@cache
def read(source: bytes) -> Source:
    """What counts of a module's source."""
    tree = ast.parse(source)
    return Source(md5(_syntax(tree).encode(), usedforsecurity=False).hexdigest(), tuple(dict.fromkeys(_imported(tree))))


def _syntax(node: object) -> str:
    """A node without the places of its parts, and without strings that stand alone, as docstrings do.

    Empty fields are left out, since versions of Python differ in which there are.
    """
    if isinstance(node, list):
        return f"[{','.join(_syntax(item) for item in node if not _is_comment(item))}]"
    if isinstance(node, ast.AST):
        fields = [f"{name}={_syntax(value)}" for name, value in ast.iter_fields(node) if value is not None and value != []]
        return f"{type(node).__name__}({','.join(fields)})"
    return repr(node)


def _is_comment(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _imported(tree: ast.Module) -> Iterator[str]:
    """Dotted names of the project's modules that a source imports when it runs, and the packages around them."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = [node.value]  # of a module that another process runs
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            pending.extend(child for child in ast.iter_child_nodes(node) if not _is_comment(child))
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] in PACKAGES and all(part.isidentifier() for part in parts):
                yield from (".".join(parts[:count]) for count in range(1, len(parts) + 1))


def _file(module: str, root: Path) -> Path | None:
    path = root / module.replace(".", "/")
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def _data(folder: Path) -> Iterator[Path]:
    """Files in a folder that are no modules, and those in its folders that are no packages."""
    for path in folder.iterdir():
        if path.is_file() and path.suffix != ".py":
            yield path
        elif path.is_dir() and path.name != "__pycache__" and not any(path.rglob("*.py")):
            yield from (file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts)


if __name__ == "__main__":
    ArgumentParser(prog="python -m tasks.code", description=__doc__).parse_args()
    write_code(load_params())
