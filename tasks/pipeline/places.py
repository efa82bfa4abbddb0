"""Where things lie, relative to the project's root.

What a stage makes has the name ``stage.output`` (:mod:`tasks.pipeline.stages`), such as ``split.sft`` or ``mine.metrics``. A
node of an experiment keeps its files in a folder of its own, under the names that they have in the main pipeline: what select
writes to ``data/selected/trajectories.jsonl`` lies in ``artifacts/nodes/select-<digest>/trajectories.jsonl`` if a node made it.
"""

from __future__ import annotations

from pathlib import Path

from tasks.pipeline.stages import STAGES

STATE = Path(".fusesearch")
"""What is local to this machine: caches, progress of running stages, server records. Neither DVC nor git tracks it."""
SNAPSHOTS = STATE / "snapshots"
GRAPHS = STATE / "graphs"
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


def experiment_files(name: str) -> Path:
    """The results of an experiment as CSV and figures, for other programs."""
    return ARTIFACTS / "experiments" / name
