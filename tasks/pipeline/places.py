"""Where one run of a stage reads and writes: the main pipeline's files, or those of the nodes of an experiment.

A node keeps its files in one folder of its own, under the names that they have in the main pipeline: what select writes to
``data/selected/trajectories.jsonl`` lies in ``artifacts/nodes/select-<digest>/trajectories.jsonl`` if a node made it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tasks.pipeline import layout


@dataclass(frozen=True)
class Places:
    """The files of every stage; ``nodes`` has the folder of each stage whose files are a node's, by stage."""

    nodes: Mapping[str, Path] = field(default_factory=dict)

    def of(self, stage: str, main: Path) -> Path:
        """Where ``stage`` has the file or folder that is ``main`` in the main pipeline."""
        return self.nodes[stage] / main.name if stage in self.nodes else main

    @property
    def repos(self) -> Path:
        """Folder of bare repositories."""
        return self.of("mine", layout.REPOS)

    @property
    def pairs(self) -> Path:
        """Raw pairs."""
        return self.of("mine", layout.PAIRS)

    @property
    def mine_table(self) -> Path:
        """What mining looked at, and what it dropped."""
        return self.of("mine", layout.MINE_TABLE)

    @property
    def instances(self) -> Path:
        """Instances that the filter kept."""
        return self.of("filter", layout.INSTANCES)

    @property
    def filter_drops(self) -> Path:
        """How many pairs each rule dropped."""
        return self.of("filter", layout.FILTER_DROPS)

    @property
    def filter_examples(self) -> Path:
        """A few pairs that each rule dropped."""
        return self.of("filter", layout.FILTER_EXAMPLES)

    def split(self, name: str) -> Path:
        """The instances of one split: ``sft``, ``rl`` or ``validation``."""
        return self.of("split", layout.split_path(name))

    @property
    def card(self) -> Path:
        """Folder of the data card."""
        return self.of("split", layout.DATA_CARD)

    @property
    def candidates(self) -> Path:
        """The teacher's trajectories."""
        return self.of("synthesize", layout.CANDIDATES)

    @property
    def selected(self) -> Path:
        """The trajectories worth learning from."""
        return self.of("select", layout.SELECTED)

    @property
    def select_drops(self) -> Path:
        """How many candidates were dropped, by reason."""
        return self.of("select", layout.SELECT_DROPS)

    @property
    def select_examples(self) -> Path:
        """A few candidates that were dropped, by reason."""
        return self.of("select", layout.SELECT_EXAMPLES)

    @property
    def select_plane(self) -> Path:
        """The candidates in the plane of F1 and e."""
        return self.of("select", layout.SELECT_PLANE)

    def checkpoint(self, stage: str) -> Path:
        """The checkpoint a training stage makes."""
        return self.of(stage, layout.checkpoint_path(stage))

    def curve(self, stage: str) -> Path:
        """The training curve of a stage."""
        return self.of(stage, layout.curve_path(stage))

    @property
    def scores(self) -> Path:
        """Scores of all evaluated episodes."""
        return self.of("evaluate", layout.SCORES)

    @property
    def trajectories(self) -> Path:
        """Folder of the evaluated episodes, a file per arm."""
        return self.of("evaluate", layout.TRAJECTORIES)

    def metrics(self, stage: str) -> Path:
        """The summary figures of a stage."""
        return self.of(stage, layout.metrics_path(stage))


MAIN = Places()
"""The main pipeline's."""
