"""``dvc.yaml`` from the table of stages: ``python -m tasks.running.deps --check`` or ``--write``.

The code that a stage depends on is what its function imports, directly or not, also inside functions, and the localizers that
``params.yaml`` has it run. A package is named as a whole if most of its files are used. What follows ``plots:`` in ``dvc.yaml``
is kept as it is.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import yaml

from fusesearch.core.config import Params, load_params
from fusesearch.core.errors import ConfigError
from fusesearch.core.storage import read_text, write_text
from fusesearch.localizers.registry import paths_of
from tasks.running.places import MAIN
from tasks.stages import STAGES, Stage, stage_named

PACKAGES = ("fusesearch", "tasks")
DVC_YAML = Path("dvc.yaml")
PARAMS = Path("params.yaml")
WRITE = "python -m tasks.running.deps --write"
HEADER = f"""\
# Written by `{WRITE}` from tasks/stages.py; plots are written by hand.
# `python` is that of the environment: run `make reproduce`, or activate .venv before `dvc repro`.
"""
PLOTS = "\nplots:\n"
MOST = 0.6
"""Share of a package's files from which it is named as a whole."""
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
    "tasks/stages.py",
    "tasks/running/places.py",
    "tasks/running/node.py",
    "tasks/running/deps.py",
    "tasks/running/parts.py",
    "tasks/running/process.py",
    "tasks/running/record.py",
    "tasks/running/resume.py",
)
"""Modules that say where and with which params a stage runs, not what it makes."""


def code_of(stage: str) -> list[Path]:
    """The code that decides a stage's outputs, as ``dvc.yaml`` has it. Raises :class:`ConfigError` where that is damaged."""
    others = stage_named(stage).code
    return [dep for dep in _listed(stage) if dep.parts[0] in PACKAGES or dep.as_posix() in others]


def _listed(stage: str) -> list[Path]:
    try:
        return [*map(Path, _parsed(read_text(DVC_YAML))["stages"][stage]["deps"])]
    except (yaml.YAMLError, TypeError, KeyError) as error:
        raise ConfigError(f"{DVC_YAML} is damaged ({error}): run `{WRITE}`") from None


def check_files(stage: Stage, params: Params) -> None:
    """Raise :class:`ConfigError` if the params have a stage read a file or folder that ``dvc.yaml`` does not list."""
    deps = _listed(stage.name)
    for path in map(MAIN.input, stage.reads(params)):
        if path not in deps:
            raise ConfigError(
                f"{DVC_YAML} does not have {path} among the deps of {stage.name}, so DVC would not see it change: "
                f"run `{WRITE}`, then this command again"
            )


@lru_cache(maxsize=4)
def _parsed(text: str) -> Any:
    return yaml.safe_load(text)


def render(root: Path = Path()) -> str:
    """What ``dvc.yaml`` should be."""
    plots = (root / DVC_YAML).read_text(encoding="utf-8").partition(PLOTS)[2]
    params = load_params(root / PARAMS)
    entries = [yaml.safe_dump({name: entry(stage, params, root)}, sort_keys=False, width=200) for name, stage in STAGES.items()]
    indented = ["".join(f"  {line}\n" for line in text.splitlines()) for text in entries]
    return HEADER + "stages:\n" + "\n".join(indented) + PLOTS + plots


def entry(stage: Stage, params: Params, root: Path = Path()) -> dict[str, Any]:
    """A stage as DVC has it."""
    inputs = [MAIN.input(name).as_posix() for name in stage.reads(params)]
    run = [stage.run, *(path for name in stage.localizers(params) for path in paths_of(name))]
    return {
        "cmd": f"python -m flows.run {stage.name}",
        "desc": stage.description,
        "deps": [*sorted(inputs), *sorted({*stage.code, *imported_code([where.partition(":")[0] for where in run], root)})],
        "params": list(stage.params),
        "outs": list(stage.outputs.values()),
        "metrics": [{stage.metrics: {"cache": False}}],
    }


def imported_code(modules: Iterable[str], root: Path = Path()) -> set[str]:
    """Files and packages of the project that modules are made of."""
    found: set[Path] = set()
    pending = [_file(module, root) for module in modules]
    while pending:
        path = pending.pop()
        if path is None or path in found or path.relative_to(root).as_posix() in DECIDES_NOTHING:
            continue
        found.add(path)
        pending += [_file(name, root) for name in _imports(path.read_text(encoding="utf-8"))]
    found = {path for path in found if path.name != "__init__.py" or _has_code(path)}
    return {path.relative_to(root).as_posix() for path in _summed_up(found)}


def _summed_up(files: set[Path]) -> Iterator[Path]:
    """Files, or their package where most of it is used or it also holds files that are not Python, such as prompts."""
    for folder in {path.parent for path in files}:
        used = {path for path in files if path.parent == folder}
        # Git leaves empty folders of moved packages behind: they are not part of the code.
        sources = {file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts}
        inside = [path for path in folder.iterdir() if path in sources or any(file.is_relative_to(path) for file in sources)]
        modules = [path for path in inside if path.suffix == ".py"]
        packages = [path for path in inside if (path / "__init__.py").exists()]
        data = [path for path in inside if path not in modules and path not in packages]
        if not packages and (data or len(used) >= MOST * len(modules)):
            yield folder
        else:
            yield from used
            yield from data


@cache
def _imports(text: str) -> tuple[str, ...]:
    """Dotted names of the project's modules that a source imports when it runs, and the packages around them, each once."""
    return tuple(dict.fromkeys(_imported(text)))


def _imported(text: str) -> Iterator[str]:
    pending: list[ast.AST] = [ast.parse(text)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = [node.value]  # of a module that another process runs
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            pending.extend(ast.iter_child_nodes(node))
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] in PACKAGES and all(part.isidentifier() for part in parts):
                yield from (".".join(parts[:count]) for count in range(1, len(parts) + 1))


def _file(module: str, root: Path) -> Path | None:
    path = root / module.replace(".", "/")
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def _has_code(path: Path) -> bool:
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return any(not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)) for node in body)


if __name__ == "__main__":
    if sys.argv[1:] not in (["--check"], ["--write"]):
        sys.exit("usage: python -m tasks.running.deps --check | --write")
    text = render()
    if sys.argv[1:] == ["--write"]:
        write_text(DVC_YAML, text)
    elif DVC_YAML.read_text(encoding="utf-8") != text:
        sys.exit(f"{DVC_YAML} is not what the stages and their imports make it: run `{WRITE}`")
