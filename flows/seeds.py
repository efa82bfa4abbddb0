"""The main comparison for several seeds: ``python -m flows.seeds 0 1 2``, or ``make seeds``.

Data are mined and split once (``data_seed``); synthesis, training and evaluation are repeated. Each seed is a
``dvc repro``, saved as the DVC experiment ``seed-<n>`` and kept in ``experiments/seeds``. The seed of ``params.yaml``
comes last, so that the working tree ends as it began.
"""

import subprocess
import sys

from prefect import flow, task
from prefect.artifacts import create_table_artifact

from flows.stage import ONCE, run_stage
from tasks.core.config import load_params
from tasks.core.errors import ConfigError, DataError
from tasks.stages import replicates


@task(name="reproduce", task_run_name="reproduce seed {seed}", **ONCE)
def reproduce(seed: int) -> None:
    """One ``dvc repro``; finished stages of a killed run are not repeated."""
    replicates.set_seed(seed)
    _dvc("repro")
    _dvc("exp", "save", "--force", "--name", f"seed-{seed}")
    replicates.keep(seed)


@flow(name="seeds")
def seeds_flow(seeds: list[int]) -> None:
    """Reproduce for each seed, then put their figures side by side."""
    own = load_params().seed
    try:
        for seed in sorted(set(seeds), key=lambda seed: (seed == own, seed)):
            reproduce(seed)
    finally:
        replicates.set_seed(own)
    rows = replicates.summarize()
    create_table_artifact(table=rows, key="seeds", description="Figures by seed")


def _dvc(*arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", "dvc", *arguments], check=False)
    if done.returncode:
        raise DataError(f"dvc {' '.join(arguments)} ended with code {done.returncode}: see above")


def _seeds(arguments: list[str]) -> list[int]:
    if not arguments or not all(argument.isdigit() for argument in arguments):
        raise ConfigError("usage: python -m flows.seeds SEED [SEED ...]")
    return [int(argument) for argument in arguments]


if __name__ == "__main__":
    run_stage(lambda: seeds_flow(_seeds(sys.argv[1:])))
