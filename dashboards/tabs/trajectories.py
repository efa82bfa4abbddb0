"""One instance as one localizer or two searched it: the page of each episode, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from dashboards import draw, read
from dashboards.draw import coded, noted
from fusesearch.core.errors import FusesearchError
from fusesearch.evaluation.results import TRAJECTORIES
from fusesearch.reporting.episodes.page import page_of
from fusesearch.reporting.episodes.rendering import render
from fusesearch.reporting.table import ARMS
from tasks.running.places import MAIN, NODES

TITLE = "Trajectories"
NOBODY = "(nobody)"


@dataclass(frozen=True)
class Source:
    """A file of trajectories: who searched, the split that has the truth, and the stage that makes the file."""

    name: str
    label: str
    path: Path
    stage: str = "evaluate"
    split: str = "validation"


def sources(root: Path) -> list[Source]:
    """Evaluated arms in the order of tables, runs of experiments, then the teacher's candidates."""
    arms = {path.parent.name: path for path in sorted((root / MAIN["evaluate.cells"]).glob(f"*/{TRAJECTORIES}"))}
    order = [arm for arm in ARMS if arm in arms] + [arm for arm in arms if arm not in ARMS]
    found = [Source(arm, ARMS.get(arm, arm), arms[arm]) for arm in order]
    users = {node: label for node, label in _users(root)}
    for path in sorted((root / NODES).glob(f"*/cells/*/{TRAJECTORIES}")):
        node, cell = path.parents[2].name, path.parent.name
        label = f"{node}: {users.get(node, ARMS.get(cell, cell))}"
        found.append(Source(f"{node}/{cell}", label, path, f"experiments/dvc.yaml:{node.rpartition('-')[0]}@{node}"))
    if (root / MAIN["synthesize.candidates"]).exists():
        found.append(Source("candidates", "teacher's candidates", root / MAIN["synthesize.candidates"], "synthesize", "sft"))
    return found


def _users(root: Path) -> Iterator[tuple[str, str]]:
    """Nodes with an arm that uses them."""
    for name, results in read.finished(root).items():
        for arm in results.arms:
            for seed, nodes in arm.nodes.items():
                yield from ((node, f"{name}, {arm.label}, seed {seed}") for node in nodes.values())


def page(root: Path) -> None:
    """The episodes of the instance and the localizers that the side bar asks for."""
    known = {source.name: source for source in sources(root)}
    if not known:
        st.warning("artifacts/evaluate/cells and data/synthesized/trajectories.jsonl are missing: run `dvc repro evaluate`")
        return
    found: dict[Source, read.Episodes] = {}
    for source in _chosen(known):
        with noted():
            found[source] = read.episodes(source.path, source.stage)
    shared = sorted(set.intersection(*map(set, found.values()))) if found else []
    if not shared:
        st.warning("No instance was searched by all that are chosen.")
        return
    instance = st.selectbox(f"Instance (of {len(shared):,})", shared, key="instance", bind="query-params")
    for place, (number, (source, lines)) in zip(st.columns(len(found)), enumerate(found.items(), 1), strict=True):
        with place, noted():
            show(root, source, lines[instance], number)


def _chosen(known: dict[str, Source]) -> Sequence[Source]:
    """The first localizer, and the one beside it."""
    names = list(known)

    def label(name: str) -> str:
        return known[name].label if name in known else "nobody"

    usual = names.index("sft") if "sft" in names else 0
    first = st.sidebar.selectbox("Localizer", names, usual, format_func=label, key="first", bind="query-params")
    others = [*names, NOBODY]
    beside = names.index("sft+rl") if "sft+rl" in names else len(others) - 1
    second = st.sidebar.selectbox("Beside it", others, beside, format_func=label, key="second", bind="query-params")
    return [known[name] for name in dict.fromkeys((first, second)) if name in known]


def show(root: Path, source: Source, lines: Sequence[bytes], number: int) -> None:
    """One of the runs of an instance; without its truth, the page judges nothing."""
    label = f"Episode of localizer {number}"
    run = 1 if len(lines) == 1 else int(st.number_input(label, 1, len(lines), 1, key=f"run{number}", bind="query-params"))
    episode, truth = read.episode(lines[run - 1], source.path), None
    try:
        truth = read.truth(root, source.split, episode.instance_id)
    except FusesearchError as error:
        st.info(coded(str(error)))
    draw.words(source.label)
    draw.frame(render(page_of(episode, truth)), f"Episode: {source.label}")
