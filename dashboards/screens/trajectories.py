"""One instance as one localizer or two searched it."""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from dashboards.content.trajectories import ordered, trajectories_page
from dashboards.reading import episodes
from dashboards.reading.episodes import Source
from dashboards.view.shown import begin, missing, plain, show
from tasks.core.errors import FusesearchError

ORDERS = {"difference": "largest difference in F1 first", "worst": "first localizer's worst first", "name": "by name"}
NOBODY = "(nobody)"


def chosen_sources(known: Sequence[Source]) -> list[Source]:
    """The first localizer, and the second unless nobody is."""
    by_name = {source.name: source for source in known}
    names = list(by_name)

    def label(name: str) -> str:
        return by_name[name].label if name in by_name else "nobody"

    usual = names.index("sft") if "sft" in names else 0
    first = st.sidebar.selectbox("Localizer", names, usual, format_func=label, key="first", bind="query-params")
    others = [*names, NOBODY]
    beside = names.index("sft+rl") if "sft+rl" in names else len(others) - 1
    second = st.sidebar.selectbox("Beside it", others, beside, format_func=label, key="second", bind="query-params")
    return [by_name[first], *([by_name[second]] if second in by_name else [])]


def instances_of(sources: Sequence[Source]) -> list[str]:
    """Instances that all chosen ones searched, in the order asked for."""
    shared = set.intersection(*(set(episodes.index(source).offsets) for source in sources))
    wanted = st.sidebar.text_input("Only instances whose name holds", key="holds", bind="query-params").strip().casefold()
    found = [name for name in shared if wanted in name.casefold()]
    by = st.sidebar.selectbox("Order", list(ORDERS), format_func=ORDERS.__getitem__, key="order", bind="query-params")
    return ordered(found, episodes.f1_of(sources[0]), episodes.f1_of(sources[-1]), by)


def run_of(source: Source, instance: str, place: int) -> int:
    """Which of several episodes of an instance."""
    runs = len(episodes.index(source).offsets[instance])
    if runs == 1:
        return 1
    return int(st.sidebar.number_input(f"Episode of {plain(source.label)}", 1, runs, 1, key=f"run{place}", bind="query-params"))


def page() -> None:
    """Choices in the side bar, then the page."""
    known = episodes.sources(Path())
    if not known:
        missing("artifacts/evaluate/trajectories and data/synthesized/trajectories.jsonl are missing: run `dvc repro evaluate`")
        return
    sources, faults = episodes.readable(chosen_sources(known))
    for fault in faults:
        missing(fault)
    if not sources:
        return
    found = instances_of(sources)
    if not found:
        missing("No instance of that name was searched by all that are chosen: choose others, or shorten the name.")
        return
    instance = st.selectbox(f"Instance (of {len(found):,})", found, key="instance", bind="query-params")
    together = st.sidebar.toggle("Side by side", value=True, key="together", bind="query-params")
    runs = [(source, run_of(source, instance, place)) for place, source in enumerate(sources)]
    show(trajectories_page(runs, instance, together))


begin("Trajectories")
try:
    page()
except FusesearchError as error:
    missing(str(error))
