"""One instance as one localizer or two searched it: figures, truth that was found, and the page of each episode."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from dashboards import draw, episodes
from dashboards.draw import coded, noted
from dashboards.episodes import Source
from fusesearch.core.errors import FusesearchError
from fusesearch.core.schema import Trajectory
from fusesearch.evaluation.answers import score_answer
from fusesearch.evaluation.costs import tool_statistics
from fusesearch.evaluation.metrics import METRICS, score_trajectory
from fusesearch.reporting import table
from fusesearch.reporting.episodes.page import Page, Wanted, page_of
from fusesearch.reporting.episodes.rendering import render
from fusesearch.reporting.table import ABSENT, Row, Table

TITLE = "Trajectories"
ORDERS = {"difference": "largest difference in F1 first", "worst": "first localizer's worst first", "name": "by name"}
NOBODY = "(nobody)"
FRAME_HEIGHT = 900  # pixels: Streamlit could measure only a frame that belongs to the app and lets scripts run
MEASURED = ("efficiency", "efficiency_call", "turns", "calls", "calls_per_turn", "failed_calls", "seconds")
FIGURES = {
    "f1": "F1 (0.7 file + 0.3 function)",
    "file_f1": "File F1",
    "function_f1": "Function F1",
    **{key: METRICS[key].name for key in MEASURED},
    "tokens_billed": "Tokens billed",
}


def page(root: Path) -> None:
    """The page of the instance and the localizers that the side bar asks for."""
    known = {source.name: source for source in episodes.sources(root)}
    if not known:
        st.warning("artifacts/evaluate/cells and data/synthesized/trajectories.jsonl are missing: run `dvc repro evaluate`")
        return
    sources, faults = episodes.readable(_chosen(known))
    for fault in faults:
        st.warning(coded(fault))
    if not sources:
        return
    found = _instances(sources)
    if not found:
        st.warning("No instance of that name was searched by all that are chosen: choose others, or shorten the name.")
        return
    instance = st.selectbox(f"Instance (of {len(found):,})", found, key="instance", bind="query-params")
    together = st.sidebar.toggle("Side by side", value=True, key="together", bind="query-params")
    runs = [(source, _run(source, instance, place)) for place, source in enumerate(sources)]
    show(list(dict.fromkeys(runs)), instance, together)


def _chosen(known: Mapping[str, Source]) -> list[Source]:
    """The first localizer, and the one beside it."""
    names = list(known)

    def label(name: str) -> str:
        return known[name].label if name in known else "nobody"

    usual = names.index("sft") if "sft" in names else 0
    first = st.sidebar.selectbox("Localizer", names, usual, format_func=label, key="first", bind="query-params")
    others = [*names, NOBODY]
    beside = names.index("sft+rl") if "sft+rl" in names else len(others) - 1
    second = st.sidebar.selectbox("Beside it", others, beside, format_func=label, key="second", bind="query-params")
    return [known[name] for name in (first, second) if name in known]


def _instances(sources: Sequence[Source]) -> list[str]:
    """Instances that all chosen ones searched, in the order asked for."""
    wanted = st.sidebar.text_input("Only instances whose name holds", key="holds", bind="query-params").strip().casefold()
    shared = set.intersection(*(set(source.offsets()) for source in sources))
    by = st.sidebar.selectbox("Order", list(ORDERS), format_func=ORDERS.__getitem__, key="order", bind="query-params")
    return ordered([name for name in shared if wanted in name.casefold()], sources[0].f1(), sources[-1].f1(), by)


def _run(source: Source, instance: str, place: int) -> int:
    """Which of several episodes of an instance."""
    runs = len(source.offsets()[instance])
    label = f"Episode of localizer {place + 1}"
    return 1 if runs == 1 else int(st.sidebar.number_input(label, 1, runs, 1, key=f"run{place}", bind="query-params"))


def ordered(instances: Sequence[str], first: Mapping[str, float], second: Mapping[str, float], by: str) -> list[str]:
    """Instances by id, by how far one F1 is from the other (``difference``), or the first's worst first (``worst``).

    Those without the F1 that counts come last.
    """
    if by == "difference":
        return sorted(instances, key=lambda i: (-abs(first[i] - second[i]) if i in first and i in second else 1.0, i))
    if by == "worst":
        return sorted(instances, key=lambda i: (first.get(i, 2.0), i))
    return sorted(instances)


@dataclass(frozen=True)
class Shown:
    """An episode with the name of its source, its page and its figures; those of quality need the truth.

    ``lacks`` says why the truth is not known, "" if it is.
    """

    name: str
    trajectory: Trajectory
    page: Page
    figures: Mapping[str, Any]
    lacks: str


def open_episode(source: Source, instance_id: str, run: int = 1) -> Shown:
    """Read one episode and work out its page. Raises :class:`ArtifactError` if it is missing or damaged."""
    trajectory = source.episode(instance_id, run)
    truth, lacks = None, ""
    try:
        truth = source.truth(instance_id)
    except FusesearchError as error:
        lacks = str(error)
    score = score_answer if truth and truth.expected else score_trajectory
    figures = score(trajectory, truth).model_dump() if truth else tool_statistics(trajectory)
    name = f"{source.label}, episode {run}" if len(source.offsets()[instance_id]) > 1 else source.label
    return Shown(name, trajectory, page_of(trajectory, truth), figures, lacks)


def show(chosen: Sequence[tuple[Source, int]], instance_id: str, side_by_side: bool = True) -> None:
    """An instance as sources, each with the number of its run, searched it; one that cannot be read hides no other."""
    shown: list[Shown] = []
    for source, run in chosen:
        with noted():
            shown.append(open_episode(source, instance_id, run))
    if not shown:
        return
    draw.quote("Issue", shown[0].trajectory.issue)
    for part in shown:
        if part.trajectory.error is not None:
            st.info(coded(f"{part.name}: the infrastructure failed, so there is no score ({part.trajectory.error})"))
    draw.table(_figures(shown))
    if shown[0].page.truth is None:
        st.info(coded(shown[0].lacks))
    else:
        draw.table(_found(shown))
    st.header("Every turn")
    together = side_by_side and len(shown) > 1
    places = st.columns(len(shown)) if together else [st.container() for _ in shown]
    for place, part in zip(places, shown, strict=True):
        # an address of its own: its links stay inside of it, and its origin is not the app's
        address = f"data:text/html;charset=utf-8;base64,{base64.b64encode(render(part.page).encode()).decode()}"
        place.iframe(address, height=FRAME_HEIGHT, alt=f"Episode: {part.name}", tab_index=0)


def _figures(shown: Sequence[Shown]) -> Table:
    rows = [Row([name, *(table.shown(part.figures.get(key)) for part in shown)]) for key, name in FIGURES.items()]
    rows.append(Row(["Ended because", *(part.page.stop for part in shown)]))
    return Table("Figures of the episode", ["Figure", *(part.name for part in shown)], rows)


def _found(shown: Sequence[Shown]) -> Table:
    """The truth, and for each episode which call first showed it and its place in the answer."""
    columns = [{wanted.entity: wanted for wanted in part.page.truth or ()} for part in shown]
    rows = [Row([entity, *(_hit(column.get(entity)) for column in columns)]) for entity in columns[0]]
    return Table("What the patch modifies, and who found it", ["Truth", *(part.name for part in shown)], rows)


def _hit(wanted: Wanted | None) -> str:
    if wanted is None:
        return ABSENT
    seen = f"first shown by call {wanted.first.name}" if wanted.first else "never shown"
    return f"✓ answered, place {wanted.rank}; {seen}" if wanted.rank else f"✗ not answered; {seen}"
