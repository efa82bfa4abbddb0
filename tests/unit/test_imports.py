"""Imports run one way, and heavy packages stay out of where people wait for them."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import fusesearch

ROOT = Path(__file__).parents[2]
LAYERS = [
    {"core"},
    {"search"},
    {"code"},
    {"agents"},
    {"localizers"},
    {"data"},
    {"evaluation"},
    {"training"},
    {"reporting"},
    {"cli"},
    {"tasks"},
    {"flows"},
    {"experiments", "dashboards"},
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
HEAVY = {"torch", "trl", "vllm", "prefect", "mlflow", "transformers", "datasets", "dvc"}
SUBCLASSES = {"key_values.py", "optimizer.py", "trl_trimmed.py"}  # of classes of torch, transformers and TRL
FILES = sorted(
    path for folder in ("fusesearch", "tasks", "flows", "experiments", "dashboards") for path in (ROOT / folder).rglob("*.py")
)
FILES = [
    path for path in FILES if path not in (ROOT / "fusesearch/__init__.py", ROOT / "fusesearch/__main__.py")
]  # the public names, from every layer


def layer(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[1] if parts[0] == "fusesearch" and len(parts) > 1 else parts[0]


def imported(nodes: Iterator[ast.AST]) -> set[str]:
    """Dotted names of all modules that the nodes import."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def at_import_time(tree: ast.Module) -> Iterator[ast.AST]:
    """Statements that run when the module is imported: not those inside functions or under TYPE_CHECKING."""
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        yield node
        pending.extend(ast.iter_child_nodes(node))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_from_its_own_layer_or_below(path):
    here = layer(path)
    names = imported(ast.walk(ast.parse(path.read_text())))
    used = {name.split(".")[1] for name in names if name.startswith("fusesearch.")}
    used |= {"tasks", "flows", "experiments", "dashboards"} & {name.split(".")[0] for name in names}
    allowed = {name for name, rank in RANK.items() if rank < RANK.get(here, 0)} | {here}
    assert used <= allowed


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if layer(path) != "flows" and path.name not in SUBCLASSES],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_heavy_packages_are_imported_inside_functions(path):
    tree = ast.parse(path.read_text())
    eager = {name.split(".")[0] for name in imported(at_import_time(tree))} & HEAVY
    anywhere = {name.split(".")[0] for name in imported(ast.walk(tree))} & HEAVY
    assert eager == set()
    if layer(path) in ("core", "search"):
        assert anywhere == set()


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.is_relative_to(ROOT / "fusesearch")], ids=lambda path: str(path.relative_to(ROOT))
)
def test_the_library_does_not_import_its_own_front_door(path):
    names = imported(ast.walk(ast.parse(path.read_text())))
    assert not any(name == "fusesearch" or name in {f"fusesearch.{public}" for public in fusesearch.__all__} for name in names)
