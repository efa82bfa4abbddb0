"""A search tree (:mod:`fusesearch.training.search`) as a page: a row per turn, indented below the turn that it continues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fusesearch.core.errors import DataError
from fusesearch.reporting.page import Page, Section
from fusesearch.reporting.table import ABSENT, Row, Table
from fusesearch.search.tool import describe

MAX_CHARS = 160


def tree_page(tree: Mapping[str, Any], title: str) -> Page:
    """The page of one tree as its file has it. Raises :class:`DataError` for other JSON."""
    nodes = tree.get("nodes")
    if not isinstance(nodes, list) or not nodes or not all(isinstance(node, dict) and "visits" in node for node in nodes):
        raise DataError("not a search tree: those are the files under checkpoint/trees of a GRPO run with grpo.search")
    below: dict[int | None, list[int]] = {}
    for number, node in enumerate(nodes):
        below.setdefault(node["parent"], []).append(number)
    header = ["Turn", "Gain", "Visits", "Mean value", "Reward", "End", "Trained"]
    rows = [Row(cells) for number in below.get(0, []) for cells in _rows(nodes, below, number, 0)]
    ends = sum(node["stop"] is not None for node in nodes)
    text = (
        f"{len(nodes) - 1} turns, {ends} of them the end of an episode; {nodes[0]['visits']} simulations. Trained turns are "
        "part of an episode that was chosen."
    )
    asked = " ".join(str(tree.get("issue", "")).split())
    return Page(
        title,
        [
            Section(
                "Tree",
                [asked, text] if asked else [text],
                [Table("Turns; each stands below the one that it continues", header, rows)],
            )
        ],
    )


def _rows(nodes: list[dict[str, Any]], below: Mapping[int | None, list[int]], number: int, depth: int) -> Iterator[list[str]]:
    node = nodes[number]
    calls = "; ".join(f"{call['name']} {describe(call['arguments'])}" for call in node["calls"]) or node["text"].strip()
    mark = " (after a critique)" if node["critiqued"] else ""
    gains = node["gains"]
    yield [
        f"{'· ' * depth}{' '.join(calls.split())[:MAX_CHARS]}{mark}",
        f"{sum(gains) / len(gains):.2f}" if gains else ABSENT,
        str(node["visits"]),
        f"{node['value'] / node['visits']:.3f}" if node["visits"] else ABSENT,
        ABSENT if node["reward"] is None else f"{node['reward']:.3f}",
        node["stop"] or "",
        "yes" if node["trained"] else "",
    ]
    for child in below.get(number, []):
        yield from _rows(nodes, below, child, depth + 1)
