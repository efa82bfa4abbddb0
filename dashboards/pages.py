"""The pages by their address: the report, experiments, trajectories. What is missing is said in its place.

They are those of :mod:`fusesearch.reporting`, made from artifacts, or from what is committed before anything has run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from dashboards import read
from dashboards.links import windows
from fusesearch.core.errors import FusesearchError
from fusesearch.core.storage import read_text
from fusesearch.evaluation.results import TRAJECTORIES
from fusesearch.reporting.episodes.page import page_of
from fusesearch.reporting.episodes.rendering import render
from fusesearch.reporting.experiment.figures import draw
from fusesearch.reporting.experiment.pages import headline, page
from fusesearch.reporting.experiment.results import RESULTS, read_results
from fusesearch.reporting.page import Page, Section
from fusesearch.reporting.table import ARMS
from tasks.experiments.spec import experiment_names, load_experiment
from tasks.running.places import EXPERIMENTS, MAIN, NODES
from tasks.running.record import git

if TYPE_CHECKING:
    from jinja2 import Template

SAMPLES = EXPERIMENTS / "samples"
FIRST = "stages"
"""The experiment that a project shows before anything has run."""


@dataclass(frozen=True)
class Source:
    """A file of trajectories: who searched, the file that has the truth, and the stage that makes them."""

    label: str
    path: Path
    stage: str = "evaluate"
    truth: Path = MAIN["split.validation"]


def find(root: Path, path: str, query: Mapping[str, str]) -> str | None:
    """The page at an address, or None. Raises :class:`FusesearchError` for what is missing or damaged."""
    parts = [part for part in path.split("/") if part]
    match parts:
        case []:
            return report(root)
        case ["experiments"]:
            return experiments(root)
        case ["experiments", name] if name in experiment_names(root / EXPERIMENTS):
            return experiment(root, name)
        case ["trajectories"]:
            return trajectories(root, query)
        case ["episode"]:
            return episode(root, query)
    return None


def report(root: Path) -> str:
    """The report as its stage wrote it; before there is one, the committed results of the main comparison."""
    path = root / MAIN["report.html"]
    if path.exists():
        return framed(read.cached(path, "report", read_text), run="report")
    if not (root / EXPERIMENTS / FIRST / RESULTS).exists():
        return notice(f"{path} is missing: run `dvc repro report`")
    return experiment(root, FIRST)


def experiments(root: Path) -> str:
    """All experiments: a chart and a word each."""
    known = experiment_names(root / EXPERIMENTS)
    if not known:
        return notice("This project has no experiment: `experiments/*/experiment.yaml` is missing")
    return framed(Page("Experiments", [_glance(root, name) for name in known]).render("html"), said=_fresh(root))


def _glance(root: Path, name: str) -> Section:
    href = f"/experiments/{quote(name)}"
    try:
        return replace(read.results_of(root, name, _headline), href=href)
    except FusesearchError as error:
        return Section(name, [str(error)], href=href)


def _headline(path: Path) -> Section:
    results = read_results(path.parent)
    word, first = headline(results)
    return Section(results.title, [first], figures=draw([], results)[:1], word=word)


def experiment(root: Path, name: str) -> str:
    """The page of an experiment: its chart and word, its tables, then sentences."""
    return framed(read.results_of(root, name, _page_of), said=_fresh(root), run=name)


def _fresh(root: Path) -> str:
    """What results are where nothing has run."""
    ran = (root / NODES).exists() or (root / MAIN["report.html"]).exists()
    return "" if ran else "Nothing has run here yet: these are committed results. `make reproduce` makes your own."


def _page_of(path: Path) -> str:
    results, asked = read_results(path.parent), load_experiment(path.parent.name, path.parents[1])
    made = page(results, draw(asked.figures, results))
    date = git("-C", str(path.parent), "log", "-1", "--format=%cs", "--", path.name)
    return replace(made, footer=[*made.footer, ("Committed", date or "not yet")]).render("html")


def sources(root: Path) -> dict[str, Source]:
    """By name: samples, evaluated arms in the order of tables, runs of experiments, then the teacher's candidates."""
    found = {}
    if (root / SAMPLES / TRAJECTORIES).exists():
        found["samples"] = Source("committed samples", root / SAMPLES / TRAJECTORIES, truth=SAMPLES / "truth.jsonl")
    arms = {path.parent.name: path for path in sorted((root / MAIN["evaluate.cells"]).glob(f"*/{TRAJECTORIES}"))}
    for arm in [*(arm for arm in ARMS if arm in arms), *(arm for arm in arms if arm not in ARMS)]:
        found[arm] = Source(ARMS.get(arm, arm), arms[arm])
    for path in sorted((root / NODES).glob(f"*/cells/*/{TRAJECTORIES}")):
        node, cell = path.parents[2].name, path.parent.name
        stage = f"experiments/dvc.yaml:{node.rpartition('-')[0]}@{node}"
        found[f"{node}/{cell}"] = Source(f"{node}: {ARMS.get(cell, cell)}", path, stage)
    candidates = root / MAIN["synthesize.candidates"]
    if candidates.exists():
        found["candidates"] = Source("teacher's candidates", candidates, "synthesize", MAIN["split.sft"])
    return found


def trajectories(root: Path, query: Mapping[str, str]) -> str:
    """One instance as one localizer or two searched it, side by side where there is room."""
    known = sources(root)
    if not known:
        return notice("artifacts/evaluate/cells is missing: run `dvc repro evaluate`")
    first = query.get("first", "sft" if "sft" in known else next(iter(known)))
    second = query.get("second", "sft+rl" if "sft+rl" in known else "")
    chosen = [name for name in dict.fromkeys((first, second)) if name in known]
    said, found = [], {}
    for name in chosen:
        try:
            found[name] = read.episodes(known[name].path, known[name].stage)
        except FusesearchError as error:
            said.append(str(error))
    shared = sorted(set.intersection(*map(set, found.values()))) if found else []
    asked = query.get("instance", "")
    instance = asked if asked in shared else next(iter(shared), "")
    frames = [
        (f"{known[name].label}{who}", f"/episode?{urlencode({'source': name, 'instance': instance, 'run': run})}")
        for name, lines in found.items()
        for run, who in enumerate(_who(lines.get(instance, [])), 1)
    ]
    labels = {name: source.label for name, source in known.items()}
    fields = [
        ("first", "Localizer", labels, first),
        ("second", "Beside it", {"": "(nobody)", **labels}, second),
        ("instance", f"Instance (of {len(shared):,})", {name: name for name in shared}, instance),
    ]
    if not shared:
        said.append("No instance was searched by all that are chosen.")
    return framed(Page("Trajectories", []).render("html"), said=" ".join(said), fields=fields, frames=frames)


def _who(lines: Sequence[bytes]) -> list[str]:
    """What tells several episodes of an instance apart: its model, and their numbers."""
    return [f": {json.loads(line).get('model', '')}, {run}" if lines[1:] else "" for run, line in enumerate(lines, 1)]


def episode(root: Path, query: Mapping[str, str]) -> str | None:
    """The page of one episode; without its truth it judges nothing."""
    source = sources(root).get(query.get("source", ""))
    if source is None:
        return None
    lines = read.episodes(source.path, source.stage).get(query.get("instance", ""), [])
    run = int(query["run"]) if query.get("run", "").isdecimal() else 1
    if not 1 <= run <= len(lines):
        return None
    shown = read.episode(lines[run - 1], source.path)
    return render(page_of(shown, read.truth(root / source.truth, shown.instance_id)))


def notice(text: str) -> str:
    """A page that says only this."""
    return framed(Page("fusesearch", []).render("html"), said=text)


def framed(
    html: str,
    *,
    said: str = "",
    run: str = "",
    fields: Sequence[tuple[str, str, Mapping[str, str], str]] = (),
    frames: Sequence[tuple[str, str]] = (),
) -> str:
    """A page of :mod:`fusesearch.reporting` with the navigation, what is ``said`` of it, a form of choices and frames.

    ``run`` is the stage or experiment that made it. A field has name, label, options with their labels, and what is chosen.
    """
    head, _, rest = html.partition("<body>")
    body = rest.rpartition("</body>")[0]
    return _template().render(head=head, body=body, said=said, windows=windows(run), fields=fields, frames=frames)


@cache
def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader

    return Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True).get_template("frame.html.j2")
