"""Train the nano base checkpoint from scratch; ``make base``. Not a stage, and no flow: its result is committed."""

import sys
from argparse import ArgumentParser
from functools import partial
from pathlib import Path

from fusesearch.core.config import Base, load_params, parse_section, read_mapping
from fusesearch.core.errors import FusesearchError
from fusesearch.core.storage import read_instances
from tasks.running.places import MAIN, SNAPSHOTS
from tasks.running.resume import finished, progress_dir, publish

RECIPE = Path("experiments/nano/base.yaml")


def train() -> None:
    """Aimless episodes on the training repositories, never on held-out ones, become ``experiments/nano/base``."""
    from fusesearch.search.snapshots import SnapshotStore, instance_snapshot
    from fusesearch.training.nano.base import train_base

    params, recipe = load_params(), parse_section(Base, read_mapping(RECIPE), source=str(RECIPE))
    snapshot = partial(instance_snapshot, SnapshotStore(SNAPSHOTS), MAIN["mine.repos"])
    splits = [MAIN[f"split.{split}"] for split in ("sft", "rl")]
    scratch = progress_dir("base", params, recipe.model_dump(), *splits)
    instances = [row for path in splits for row in read_instances(path)]
    train_base(params, recipe, instances, snapshot, scratch, lambda row: print(f"step {row['step']:g} of {row['steps']:g}"))
    publish(scratch / "checkpoint", Path(params.model.base))
    finished("base")


if __name__ == "__main__":
    ArgumentParser(prog="python -m flows.base", description=__doc__).parse_args()
    try:
        train()
    except FusesearchError as error:
        sys.exit(f"error: {error}")
