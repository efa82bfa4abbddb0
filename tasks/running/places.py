"""Where things lie, relative to the project's root.

What a stage makes has the name ``stage.output`` (:mod:`tasks.stages`), such as ``split.sft`` or ``mine.metrics``. A
node of an experiment keeps its files in a folder of its own, under the names that they have in the main pipeline: what select
writes to ``data/selected/trajectories.jsonl`` lies in ``artifacts/nodes/select-<digest>/trajectories.jsonl`` if a node made it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fusesearch.core.caches import IN_CHECKOUT, Caches
from tasks.stages import STAGES

STATE = IN_CHECKOUT
CACHES = Caches(STATE)
SNAPSHOTS = CACHES.snapshots
ARTIFACTS = Path("artifacts")
NODES = ARTIFACTS / "nodes"
EXPERIMENTS = Path("experiments")
RESULT_FILES = ("RESULTS.md", "results.json")
"""The results of an experiment, beside its file."""

_MAIN = {
    f"{stage.name}.{output}": Path(path)
    for stage in STAGES.values()
    for output, path in {**stage.outputs, "metrics": stage.metrics}.items()
}


@dataclass(frozen=True)
class Places(Mapping[str, Path]):
    """The files of every stage by name; ``nodes`` has the folder of each stage whose files are a node's."""

    nodes: Mapping[str, Path] = field(default_factory=dict)
    root: Path = Path()

    def __getitem__(self, name: str) -> Path:
        main = _MAIN[name]
        folder = self.nodes.get(name.partition(".")[0])
        return self.root / (folder / main.name if folder else main)

    def __iter__(self) -> Iterator[str]:
        return iter(_MAIN)

    def __len__(self) -> int:
        return len(_MAIN)

    def input(self, name: str) -> Path:
        """An input of a stage: what another stage makes, or a path that no stage makes."""
        return self[name] if name in _MAIN else self.root / name


MAIN = Places()
"""The main pipeline's."""
