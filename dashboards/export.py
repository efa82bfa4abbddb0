"""All pages as static HTML: files that need no server, load nothing and run no script, to be sent to people without the app."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dashboards.content.blocks import Block, Frame, Links, Notice, Text, attempt
from dashboards.content.experiments import experiment_part, experiments_page
from dashboards.content.funnel import funnel_page
from dashboards.content.plane import plane_page
from dashboards.content.results import results_page
from dashboards.content.training import figures_of, training_page
from dashboards.content.trajectories import ordered, trajectories_page
from dashboards.reading import artifacts, curves, episodes
from dashboards.reading.episodes import Source
from dashboards.reading.experiments import finished
from dashboards.tabs import FILES
from dashboards.view.static import Place, page
from tasks.core.storage import write_text
from tasks.pipeline.work.report import revision
from tasks.reporting.reproduction import COMPARED


def export(root: Path, out: Path, most: int = 20) -> Path:
    """Write all pages to ``out``, and episodes of the ``most`` instances that arms differ on most; returns the first page."""
    place = Place("", FILES, about=f"Made by `python -m dashboards export` at git revision {revision(root)}.")
    for (tab, file), blocks in zip(FILES, _pages(root, out, most, place), strict=True):
        write_text(out / file, page(tab, blocks, replace(place, current=tab)))
    return out / FILES[0][1]


def _pages(root: Path, out: Path, most: int, place: Place) -> list[Sequence[Block]]:
    return [
        results_page(root, COMPARED),
        _experiments(root),
        _training(root),
        funnel_page(root),
        attempt(lambda: _plane(root)),
        attempt(lambda: _trajectories(root, out, most, place)),
    ]


def _experiments(root: Path) -> list[Block]:
    """All that have results one below the other: side by side is for the app."""
    blocks = experiments_page(root, [])
    for name in finished(root):
        blocks += attempt(lambda name=name: experiment_part(root, name))  # type: ignore[misc]
    return blocks


def _training(root: Path) -> list[Block]:
    found, faults = curves.main_curves(root)
    return training_page(found, figures_of(found), faults)


def _plane(root: Path) -> list[Block]:
    params = artifacts.current_params(root)
    return plane_page(root, params.select.min_f1, params.select.min_efficiency, params.agent.history_scope)


def _trajectories(root: Path, out: Path, most: int, place: Place) -> list[Block]:
    for old in (out / "episodes").glob("*.html"):
        old.unlink()
    arms, faults = episodes.readable([source for source in episodes.sources(root) if source.stage == "evaluate"])
    empty = [arm for arm in arms if not episodes.index(arm).offsets]
    arms = [arm for arm in arms if arm not in empty]
    faults += [f"{arm.label} has no episodes: run `dvc repro evaluate`" for arm in empty]
    if not arms:
        return [Notice(fault) for fault in faults or ["artifacts/evaluate/trajectories is missing: run `dvc repro evaluate`"]]
    first, second = _compared(arms)
    chosen = _chosen(first, second)
    if not chosen:
        faults.append(f"{first.label} and {second.label} have no instance in common: run `dvc repro evaluate`")
    names = _file_names(chosen[:most])
    links = [(instance, _write_instance(out, arms, instance, name, place)) for instance, name in names.items()]
    known = episodes.f1_of(first) and episodes.f1_of(second)
    order = f"those first on which {first.label} and {second.label} differ most" if known else "by name"
    return [
        Text("Every localizer on one instance: figures, calls with their gain, and every turn."),
        *(Notice(fault) for fault in faults),
        Links(f"{len(links)} instances, {order}.", links),
    ]


def _compared(arms: Sequence[Source]) -> tuple[Source, Source]:
    """The two trained arms, or the first and the last of those that are there."""
    named = {arm.name: arm for arm in arms}
    return (named["sft"], named["sft+rl"]) if {"sft", "sft+rl"} <= named.keys() else (arms[0], arms[-1])


def _chosen(first: Source, second: Source) -> list[str]:
    """Instances that both searched, those first on which they differ most."""
    shared = episodes.index(first).offsets.keys() & episodes.index(second).offsets.keys()
    return ordered(list(shared), episodes.f1_of(first), episodes.f1_of(second), "difference")


def _file_names(instances: Sequence[str]) -> dict[str, str]:
    """A file name for each, its own also where case does not count; none ends like the names of episodes."""
    names = {instance: re.sub(r"[^\w.-]+|\.(?=\d+$)", "_", instance, flags=re.ASCII)[:120] for instance in instances}
    uses = Counter(name.casefold() for name in names.values())
    return {
        instance: name if name == instance and uses[name.casefold()] == 1 else f"{name}-{_digest(instance)}"
        for instance, name in names.items()
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]


def _write_instance(out: Path, arms: Sequence[Source], instance: str, name: str, place: Place) -> str:
    """The page of an instance and a document per episode, under a file name; returns the page's address."""
    blocks = trajectories_page([(arm, 1) for arm in arms], instance, side_by_side=False)
    shown: list[Block] = []
    for number, block in enumerate(blocks):
        if isinstance(block, Frame):
            file = f"{name}.{number}.html"
            write_text(out / "episodes" / file, block.html)
            block = replace(block, link=file)
        shown.append(block)
    write_text(out / "episodes" / f"{name}.html", page(instance, shown, replace(place, current="Trajectories", up="../")))
    return f"episodes/{name}.html"
