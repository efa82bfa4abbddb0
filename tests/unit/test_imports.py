"""Imports run one way, import strings included, and heavy packages stay out of where people wait for them."""

import ast
import re
from functools import cache
from pathlib import Path

import fusesearch

ROOT = Path(__file__).parents[2]
LAYERS = [
    "core", "search", "code", "agents", "localizers", "data", "evaluation", "training", "reporting", "cli", "tasks", "flows",
    "experiments",
]  # fmt: skip
RANK = {name: rank for rank, name in enumerate(LAYERS)} | {"dashboards": LAYERS.index("experiments")}
HEAVY = {"torch", "trl", "vllm", "prefect", "mlflow", "transformers", "datasets", "dvc"}
SUBCLASSES = {"learn.py", "key_values.py", "muon.py", "passes.py", "trl_trimmed.py"}  # of classes of torch, transformers and TRL
OTHERS = ("tasks", "flows", "experiments", "dashboards")
PUBLIC = {ROOT / "fusesearch/__init__.py", ROOT / "fusesearch/__main__.py"}  # names from every layer
FILES = sorted({path for folder in ("fusesearch", *OTHERS) for path in (ROOT / folder).rglob("*.py")} - PUBLIC)
MODULE = re.compile(rf"(?:fusesearch|{'|'.join(OTHERS)})(?:\.\w+)+")


@cache
def parsed(path):
    return ast.parse(path.read_text())


def layer(path):
    return layer_of(".".join(path.relative_to(ROOT).with_suffix("").parts))


def layer_of(module):
    return module.split(".")[module.startswith("fusesearch.")]


def imported(nodes):
    """Dotted names of all modules that the nodes import."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def at_import_time(tree):
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


def in_strings(nodes):
    """Dotted names of modules in strings: ``module``, ``module:name``, or the constant head of an f-string."""
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    heads = {text.partition(":")[0].rstrip(".") for text in texts}
    return {head for head in heads if MODULE.fullmatch(head) and is_module(head)}


def is_module(name):
    path = ROOT / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


def upward(here, module):
    """Modules of layers beside or above ``here`` that ``module`` imports or names in strings."""
    nodes = list(ast.walk(module))
    names = {name for name in imported(nodes) if name.startswith("fusesearch.") or name.split(".")[0] in OTHERS}
    below = {name for name, rank in RANK.items() if rank < RANK[here]}
    return {name for name in names | in_strings(nodes) if layer_of(name) not in below | {here}}


def test_every_layer_has_files():
    assert {layer(path) for path in FILES} == set(RANK)


def test_a_module_imports_only_from_its_own_layer_or_below():
    assert {path: found for path in FILES if (found := upward(layer(path), parsed(path)))} == {}


def test_heavy_packages_are_imported_inside_functions():
    for path in (path for path in FILES if layer(path) != "flows" and path.name not in SUBCLASSES):
        tree = parsed(path)
        eager = {name.split(".")[0] for name in imported(at_import_time(tree))} & HEAVY
        anywhere = {name.split(".")[0] for name in imported(ast.walk(tree))} & HEAVY
        assert eager == set(), path
        assert anywhere == set() or layer(path) not in ("core", "search"), path


def test_the_library_does_not_import_its_own_front_door():
    doors = {"fusesearch", *(f"fusesearch.{public}" for public in fusesearch.__all__)}
    inside = [path for path in FILES if path.is_relative_to(ROOT / "fusesearch")]
    assert {path: found for path in inside if (found := doors & imported(ast.walk(parsed(path))))} == {}
