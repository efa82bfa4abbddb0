"""Experiments and their results, and which of their arms a run of a stage is for."""

from __future__ import annotations

from pathlib import Path

from dashboards.reading.artifacts import cached
from tasks.core.errors import ArtifactError, FusesearchError
from tasks.pipeline.experiments.spec import experiment_names
from tasks.pipeline.places import EXPERIMENTS
from tasks.reporting.experiment.results import RESULTS, Results, read_results


def names(root: Path) -> list[str]:
    """Experiments that have a file of their own, by name."""
    return experiment_names(root / EXPERIMENTS)


def finished(root: Path) -> dict[str, Results]:
    """Results that are there, by name; what cannot be read is left to its own part of the page."""
    found = {}
    for name in names(root):
        try:
            found[name] = results_of(root, name)
        except FusesearchError:
            continue
    return found


def results_of(root: Path, name: str) -> Results:
    """The results of one experiment. Raises :class:`ArtifactError` where there are none, saying what to run."""
    folder = root / EXPERIMENTS / name
    if not (folder / RESULTS).exists():
        raise ArtifactError(f"experiments/{name}/{RESULTS} is missing: run `fusesearch experiment run {name}`")
    return cached(folder / RESULTS, f"results-{name}", _read)


def node_labels(root: Path) -> dict[str, str]:
    """What nodes are called: their id and the first arm they are for, as far as results say which that is."""
    users: dict[str, list[str]] = {}
    for name, results in finished(root).items():
        for arm in results.arms:
            for seed, nodes in arm.nodes.items():
                for node in nodes.values():
                    users.setdefault(node, []).append(f"{name}, {arm.label}, seed {seed}")
    return {node: f"{node}: {found[0]}{f' and {len(found) - 1} more' * (len(found) > 1)}" for node, found in users.items()}


def _read(path: Path) -> Results:
    return read_results(path.parent)
