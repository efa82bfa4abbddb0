"""Train the nano base checkpoint from scratch; ``make base``. Not a stage: its result is committed."""

from argparse import ArgumentParser
from functools import partial
from pathlib import Path
from typing import Any

from prefect import flow, task

from flows.command import run_prepared
from flows.progress import StageProgress
from flows.retries import ONCE
from fusesearch.core.config import Base, Params, load_params, parse_section, read_mapping
from fusesearch.core.storage import read_instances
from tasks.running.places import MAIN, SNAPSHOTS
from tasks.running.resume import finished, progress_dir, publish

RECIPE = Path("experiments/nano/base.yaml")


@task(name="train from random weights", **ONCE)
def train(params: Params, recipe: Base, progress: StageProgress) -> dict[str, Any]:
    """Aimless episodes on the training repositories, never on held-out ones."""
    from fusesearch.search.snapshots import SnapshotStore, instance_snapshot
    from fusesearch.training.nano.base import train_base

    snapshot = partial(instance_snapshot, SnapshotStore(SNAPSHOTS), MAIN["mine.repos"])
    splits = [MAIN[f"split.{split}"] for split in ("sft", "rl")]
    scratch = progress_dir("base", params, recipe.model_dump(), *splits)
    instances = [row for path in splits for row in read_instances(path)]

    def log(row: dict[str, float]) -> None:
        progress(int(row["step"]), int(row["steps"]))

    figures = train_base(params, recipe, instances, snapshot, scratch, log)
    publish(scratch / "checkpoint", Path(params.model.base))
    return figures


@flow(name="base", flow_run_name="base")
def base_flow() -> dict[str, Any]:
    """The sft and rl splits to ``experiments/nano/base``."""
    with StageProgress("base") as progress:
        recipe = parse_section(Base, read_mapping(RECIPE), source=str(RECIPE))
        figures = train(load_params(), recipe, progress)
    finished("base")
    return figures


if __name__ == "__main__":
    ArgumentParser(prog="python -m flows.base", description=__doc__).parse_args()
    run_prepared(lambda: base_flow)
