"""``python -m experiments.benchmarks.localizers.graph_bench``: LocAgent's graph, ours beside the published code's.

Each side builds in its own process, in turn, so that other work on the machine affects both. Nodes and edges are compared as
sets; each difference is named after its rule.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from tasks.code.graph.code_graph import CONTAINS, FILE, path_of
from tasks.core.errors import RepositoryError
from tasks.search.snapshots import SnapshotStore

app = typer.Typer(add_completion=False, help=__doc__)
SIDE = Path(__file__).with_name("graph_side.py")
ROOT = Path(__file__).parents[3]
EXAMPLES = 3
INIT = ".__init__"


@app.command()
def main(
    repositories: Annotated[list[str], typer.Argument(help="Git repositories with a commit: PATH@COMMIT.", metavar="REPO...")],
    original: Annotated[Path, typer.Option(help="A work tree of gersteinlab/LocAgent.", exists=True, file_okay=False)],
    python: Annotated[str, typer.Option(help="Python that runs the published code: networkx and matplotlib.")] = sys.executable,
    rounds: Annotated[int, typer.Option(help="Times each side builds each graph.", min=1)] = 3,
    snapshots: Annotated[Path, typer.Option(help="Folder of snapshots.")] = Path(".fusesearch/snapshots"),
) -> None:
    """Build time per 1,000 files and as a ratio, nodes and edges by type, and every difference. Prints Markdown."""
    store = SnapshotStore(snapshots)
    for spec in repositories:
        git_dir, _, commit = spec.rpartition("@")
        if not git_dir:
            raise typer.BadParameter(f"{spec}: say which commit, as PATH@COMMIT")
        tree = store.repository(Path(git_dir), commit).root
        typer.echo("\n".join(report(spec, [_round(tree, original, python) for _ in range(rounds)])))


def report(name: str, rounds: list[tuple[dict[str, Any], dict[str, Any]]]) -> Iterator[str]:
    """The section of one repository, of ``(ours, original)`` for each round."""
    ours, theirs = rounds[-1]
    files = sum(kind == FILE for kind in ours["nodes"].values())
    yield f"\n## {Path(name.rpartition('@')[0]).stem}@{name.rpartition('@')[2][:10]}, {files} Python files\n"
    yield "| | ours | original | ratio, median of rounds (lowest to highest) |"
    yield "|---|---|---|---|"
    for key, label in (("cpu", "processor seconds"), ("wall", "wall seconds")):
        yield _seconds(f"{label} per 1,000 files", key, rounds, 1000 / files)
    yield f"| peak memory, MB | {ours['memory_mb']:.0f} | {theirs['memory_mb']:.0f} | |"
    yield f"| seconds to list all edges | {ours['listing_cpu']:.2f} | {theirs['listing_cpu']:.2f} | |"
    for label, one, other in _counts(ours, theirs):
        yield f"| {label} | {one} | {other} | |"
    yield from _differences(ours, theirs)


def _seconds(label: str, key: str, rounds: list[tuple[dict[str, Any], dict[str, Any]]], scale: float) -> str:
    ours, theirs = (median(pair[side][key] for pair in rounds) * scale for side in (0, 1))
    ratios = sorted(pair[1][key] / pair[0][key] for pair in rounds)
    return f"| {label} | {ours:.2f} | {theirs:.2f} | {median(ratios):.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f}) |"


def _counts(ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[tuple[str, int, int]]:
    nodes = [Counter(side["nodes"].values()) for side in (ours, theirs)]
    edges = [Counter(kind for _, kind, _ in side["edges"]) for side in (ours, theirs)]
    yield from ((f"nodes: {kind}", nodes[0][kind], nodes[1][kind]) for kind in sorted(nodes[0] | nodes[1]))
    yield from ((f"edges: {kind}", edges[0][kind], edges[1][kind]) for kind in sorted(edges[0] | edges[1]))


def _differences(ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[str]:
    ours_edges, their_edges = ({tuple(edge) for edge in side["edges"]} for side in (ours, theirs))
    yield "\n| only in | what | count | such as |\n|---|---|---|---|"
    only_ours = sorted(set(ours["nodes"]) - set(theirs["nodes"]))
    yield from _rows("ours, nodes", (("constructor" if node.endswith(INIT) else "node", node) for node in only_ours))
    yield from _rows("original, nodes", (("node", node) for node in sorted(set(theirs["nodes"]) - set(ours["nodes"]))))
    linked = {other for _, kind, other in their_edges if kind == CONTAINS}
    for where, edges, nodes in (
        ("ours, edges", ours_edges - their_edges, theirs["nodes"]),
        ("original, edges", their_edges - ours_edges, ours["nodes"]),
    ):
        yield from _rows(where, ((_edge_rule(edge, nodes, linked), " ".join(edge)) for edge in sorted(edges)))


def _rows(where: str, found: Iterable[tuple[str, str]]) -> Iterator[str]:
    groups: dict[str, list[str]] = {}
    for rule, example in found:
        groups.setdefault(rule, []).append(example)
    for rule, examples in groups.items():
        yield f"| {where} | {rule} | {len(examples)} | {'; '.join(f'`{item}`' for item in examples[:EXAMPLES])} |"


def _edge_rule(edge: Any, other_nodes: dict[str, str], linked: set[str]) -> str:
    """Why one side has the edge and the other, whose nodes are given, lacks it."""
    one, kind, other = edge
    if other.endswith(INIT) or one.endswith(INIT):
        return f"{kind}, of a constructor"
    if kind == CONTAINS and other_nodes.get(other) == FILE and other not in linked:
        return f"{kind}, a file that does not parse"
    if one not in other_nodes or other not in other_nodes:
        return f"{kind}, of a node that only one has"
    if "::" not in other and kind in ("invokes", "inherits"):
        return f"{kind}, of a file or folder"
    return f"{kind}, in one file" if path_of(one) == path_of(other) else kind


def _round(tree: Path, clone: Path, python: str) -> tuple[dict[str, Any], dict[str, Any]]:
    ours = _built([sys.executable, str(SIDE), "ours", str(tree)], [])
    return ours, _built([python, str(SIDE), "original", str(tree)], [str(clone.resolve())])


def _built(command: list[str], clone: list[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"}
        done = subprocess.run([*command, str(result), *clone], env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RepositoryError(f"{command[2]} failed: {' '.join(done.stderr.split())[-300:]}")
        return json.loads(result.read_text(encoding="utf-8"))


if __name__ == "__main__":
    app()
