"""Where artifacts lie, relative to the project's root: the one list that stages, ``dvc.yaml`` and the tests agree on."""

from __future__ import annotations

from pathlib import Path

STATE = Path(".fusesearch")
"""What is local to this machine: caches, progress of running stages, server records. Not tracked by DVC or git."""

SNAPSHOTS = STATE / "snapshots"
GRAPHS = STATE / "graphs"

REPOS = Path("data/repos")
PAIRS = Path("data/raw/pairs.parquet")
MINE_TABLE = Path("data/raw/table.json")
INSTANCES = Path("data/filtered/instances.parquet")
FILTER_DROPS = Path("data/filtered/drops.json")
FILTER_EXAMPLES = Path("data/filtered/examples.json")
SPLITS = Path("data/splits")
DATA_CARD = Path("artifacts/split/card")
CANDIDATES = Path("data/synthesized/trajectories.jsonl")
SELECTED = Path("data/selected/trajectories.jsonl")
SELECT_DROPS = Path("data/selected/drops.json")
SELECT_EXAMPLES = Path("data/selected/examples.json")
SELECT_PLANE = Path("data/selected/plane.csv")

ARTIFACTS = Path("artifacts")
NODES = ARTIFACTS / "nodes"
"""Runs of stages with other params than the main pipeline's, a folder each."""

SCORES = ARTIFACTS / "evaluate/scores.jsonl"
TRAJECTORIES = ARTIFACTS / "evaluate/trajectories"
REPORT = ARTIFACTS / "report"
EXPERIMENTS = Path("experiments")
RESULT_FILES = ("RESULTS.md", "results.json")
"""What an experiment came to, beside its file."""

TRAINED = ("sft", "grpo", "grpo_from_base")
"""Stages that make a checkpoint."""

TRAINED_BY = {"rl": "grpo_from_base", "sft": "sft", "sft+rl": "grpo"}
"""The stage that makes the model of an evaluated arm; that of ``base`` is given, and ``lexical`` has none."""


def slug(repo: str) -> str:
    """``owner/name`` as the name of a file, ``owner__name``: its bare repository is ``REPOS/<slug>.git``."""
    return repo.replace("/", "__")


def split_path(name: str) -> Path:
    """The instances of one split: ``sft``, ``rl`` or ``validation``."""
    return SPLITS / f"{name}.parquet"


def checkpoint_path(stage: str) -> Path:
    """The checkpoint a training stage makes."""
    return ARTIFACTS / stage / "checkpoint"


def curve_path(stage: str) -> Path:
    """The training curve of a stage as CSV, one row per logged step."""
    return ARTIFACTS / stage / "curve.csv"


def experiment_files(name: str) -> Path:
    """The results of an experiment as CSV and figures, for other programs."""
    return ARTIFACTS / "experiments" / name


def metrics_path(stage: str) -> Path:
    """The summary figures of a stage: flat JSON, what ``dvc metrics show`` reads."""
    return ARTIFACTS / stage / "metrics.json"
