"""Artifacts as the pages need them: read once while a file stays the same; what is missing names the stage that makes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from fusesearch.core.config import load_params
from fusesearch.core.errors import ArtifactError, FusesearchError, first_fault
from fusesearch.core.examples import Example, read_examples
from fusesearch.core.schema import Score
from fusesearch.core.storage import read_csv, read_json, read_jsonl
from fusesearch.evaluation.results import TRAJECTORIES
from fusesearch.reporting.experiment.results import RESULTS, Results, read_results
from fusesearch.reporting.inputs import by_arm, read_inputs
from fusesearch.reporting.page import Page
from fusesearch.reporting.reproduction import compare_arms, page_of, summarize
from tasks.experiments.spec import experiment_names
from tasks.report import sources
from tasks.running.places import EXPERIMENTS, MAIN, Places, experiment_files

T = TypeVar("T")
MOST_BYTES = 512 * 1024**2
"""A larger file is refused: a page would take too long to open."""

_newest: dict[tuple[object, ...], tuple[list[tuple[int, int]], Any]] = {}
"""What was read of each file last, with the times of change and sizes of what it was read from."""


def cached(path: Path, stage: str, read: Callable[..., T], *arguments: Any, also: Iterable[Path] = ()) -> T:
    """``read(path, *arguments)``, or what it returned while the file, and those in ``also``, were the same.

    Raises :class:`ArtifactError` if the file is missing (naming the stage that makes it), too large, or damaged.
    """
    try:
        found = path.stat()
    except OSError:
        raise ArtifactError(f"{path} is missing: run `dvc repro {stage}`") from None
    if found.st_size > MOST_BYTES:
        raise ArtifactError(f"{path} has {found.st_size / 1e6:,.0f} MB: the dashboard reads {MOST_BYTES // 1024**2} MB at most")
    others = [other.stat() for other in also if other.exists()]
    key, version = (path.resolve(), read, *arguments), [(stat.st_mtime_ns, stat.st_size) for stat in (found, *others)]
    kept = _newest.pop(key, None)
    if kept is None or kept[0] != version:
        try:
            kept = (version, read(path, *arguments))
        except ArtifactError as error:
            raise ArtifactError(f"{error}: delete it and run `dvc repro {stage}`") from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OSError) as error:
            raise ArtifactError(f"{path} cannot be used ({_reason(error)}): delete it and run `dvc repro {stage}`") from None
    _newest[key] = kept
    return kept[1]


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return first_fault(error)
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def report(root: Path) -> Page:
    """The page of the report, from the artifacts as they are now."""
    of = sources(Places(root=root))
    files = [root / "params.yaml", of.paper, *of.grpo.values(), of.sft, of.mined, *of.drops.values(), of.plane]
    return cached(of.scores, "evaluate", _report, root, also=[*files, *sorted(of.cells.glob(f"*/{TRAJECTORIES}"))])


def _report(path: Path, root: Path) -> Page:
    params, inputs = load_params(root / "params.yaml"), read_inputs(sources(Places(root=root)))
    arms = by_arm(inputs.scores)
    return page_of(inputs, params, summarize(arms, params), compare_arms(arms, params))


def read_scores(path: Path) -> list[Score]:
    """All scores of a file."""
    return list(read_jsonl(path, Score))


def metrics(root: Path, stage: str) -> dict[str, Any]:
    """The summary figures of a stage."""
    return cached(root / MAIN[f"{stage}.metrics"], stage, _mapping)


def examples(root: Path, stage: str) -> dict[str, list[Example]]:
    """Examples of what each rule of a stage dropped."""
    return cached(root / MAIN[f"{stage}.examples"], stage, read_examples)


def experiments(root: Path) -> list[str]:
    """Experiments that have a file of their own, by name."""
    return experiment_names(root / EXPERIMENTS)


def results_of(root: Path, name: str) -> Results:
    """The results of one experiment. Raises :class:`ArtifactError` without any, saying what to run."""
    path = root / EXPERIMENTS / name / RESULTS
    if not path.exists():
        raise ArtifactError(f"experiments/{name}/{RESULTS} is missing: run `python -m flows experiment run {name}`")
    return cached(path, f"results-{name}", lambda path: read_results(path.parent))


def finished(root: Path) -> dict[str, Results]:
    """All results that can be read, by name."""
    found = {}
    for name in experiments(root):
        try:
            found[name] = results_of(root, name)
        except FusesearchError:
            continue
    return found


def experiment_curves(root: Path, name: str) -> list[dict[str, Any]]:
    """Training curves of an experiment over its seeds; empty unless it was run on this machine."""
    path = root / experiment_files(name) / "curves.csv"
    return cached(path, f"results-{name}", _experiment_curves) if path.exists() else []


def node_labels(root: Path) -> dict[str, str]:
    """What nodes are called: their id and the first arm that uses them."""
    users: dict[str, list[str]] = {}
    for name, results in finished(root).items():
        for arm in results.arms:
            for seed, nodes in arm.nodes.items():
                for node in nodes.values():
                    users.setdefault(node, []).append(f"{name}, {arm.label}, seed {seed}")
    return {node: f"{node}: {found[0]}{f' and {len(found) - 1} more' * (len(found) > 1)}" for node, found in users.items()}


def _experiment_curves(path: Path) -> list[dict[str, Any]]:
    words = ("arm", "stage")
    return [{key: text if key in words else float(text) for key, text in row.items() if text} for row in read_csv(path)]


def _mapping(path: Path) -> dict[str, Any]:
    found = read_json(path)
    if not isinstance(found, Mapping):
        raise ValueError("it holds no JSON object")
    return dict(found)
