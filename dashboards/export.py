"""All pages as static HTML: files that need no server, load nothing and run no script, for people without the app."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from dashboards import episodes, read
from dashboards.episodes import Source
from dashboards.parts import Frame, Notice, Part, document, whole
from dashboards.tabs import PAGES, experiments, funnel, plane, results, training, trajectories
from fusesearch.core.config import load_params
from fusesearch.core.storage import write_text
from fusesearch.reporting.table import Row, Table
from tasks.report import revision

FILES = [(page.TAB, "index.html" if name == "results" else f"{name}.html") for name, page in PAGES.items()]
"""Title and file."""


def export(root: Path, out: Path, most: int = 20) -> Path:
    """Write all pages to ``out``, and episodes of the ``most`` instances that arms differ on most; returns the first page."""
    write = partial(document, pages=FILES, about=f"Made by `python -m dashboards export` at git revision {revision(root)}.")
    curves, faults = read.main_curves(root)
    parts = (
        results.page(root),
        experiments.page(root, list(read.finished(root))),
        training.page(curves, training.figures_of(curves), faults),
        funnel.page(root),
        _plane(root),
        _episodes(root, out, most, write),
    )
    for (tab, file), page, made in zip(FILES, PAGES.values(), parts, strict=True):
        write_text(out / file, write(page.TITLE, whole(made), current=tab))
    return out / FILES[0][1]


def _plane(root: Path) -> Iterator[Part]:
    params = load_params(root / "params.yaml")
    yield from plane.page(root, params.select.min_f1, params.select.min_efficiency, params.agent.history_scope)


def _episodes(root: Path, out: Path, most: int, write: partial[str]) -> Iterator[Part]:
    """The list of instances; writes the page of each, and a document per episode."""
    for old in (out / "episodes").glob("*.html"):
        old.unlink()
    arms, faults = episodes.readable([source for source in episodes.sources(root) if source.stage == "evaluate"])
    faults += [f"{arm.label} has no episodes: run `dvc repro evaluate`" for arm in arms if not arm.offsets()]
    arms = [arm for arm in arms if arm.offsets()]
    yield "Every localizer on one instance: figures, calls with their gain, and every turn."
    yield from map(Notice, faults)
    if not arms:
        yield Notice("artifacts/evaluate/cells is missing: run `dvc repro evaluate`")
        return
    named = {arm.name: arm for arm in arms}
    first, second = named.get("sft", arms[0]), named.get("sft+rl", arms[-1])
    shared = trajectories.ordered(list(first.offsets().keys() & second.offsets().keys()), first.f1(), second.f1(), "difference")
    if not shared:
        yield Notice(f"{first.label} and {second.label} have no instance in common: run `dvc repro evaluate`")
        return
    rows = [Row([instance], link=_instance(out, arms, instance, write)) for instance in shared[:most]]
    known = first.f1() and second.f1()
    order = f"those first on which {first.label} and {second.label} differ most" if known else "by name"
    yield Table(f"{len(rows)} instances, {order}", ["Instance"], rows)


def _instance(out: Path, arms: Sequence[Source], instance: str, write: partial[str]) -> str:
    """Write the page of an instance and a document per episode; returns the page's address."""
    # two ids never share a file, on a disk that ignores case too, and no id makes the name of an episode's file
    name = re.sub(r"[^\w-]+", "_", instance, flags=re.ASCII)[:120]
    if name != instance or name != name.lower():
        name += f"-{hashlib.sha256(instance.encode(errors='surrogatepass')).hexdigest()[:8]}"
    shown: list[Part] = []
    for number, part in enumerate(whole(trajectories.page([(arm, 1) for arm in arms], instance, side_by_side=False))):
        if isinstance(part, Frame):
            part = replace(part, link=f"{name}.{number}.html")
            write_text(out / "episodes" / part.link, part.html)
        shown.append(part)
    write_text(out / "episodes" / f"{name}.html", write(instance, shown, current=trajectories.TAB, up="../"))
    return f"episodes/{name}.html"
