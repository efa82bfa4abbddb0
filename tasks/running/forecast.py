"""What ``dvc repro`` would run, and how long that took last: ``python -m tasks.running.forecast``.

``make reproduce`` calls it first. It writes the digests of the code, too (:mod:`tasks.code`).
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Container, Mapping

from fusesearch.core.config import Params, load_params
from fusesearch.core.errors import FusesearchError
from fusesearch.core.text import duration
from tasks.running.dvc_command import up_to_date
from tasks.running.record import RunRecord, records
from tasks.stages import STAGES

NANO = {"mine": 283, "filter": 46, "split": 1, "synthesize": 11, "select": 1, "sft": 64, "grpo": 211, "evaluate": 66, "report": 2}
"""Seconds of the stages of nano's reference reproduction on two cores, for what has not run here."""


def took() -> dict[str, float]:
    """Seconds that each stage takes: those of its last run here, of the main pipeline or a node."""
    return {**NANO, **{row.stage: row.seconds for row in records() if row.kind in ("stage", "node") and row.stage}}


def due(current: Container[str], params: Params) -> list[str]:
    """The stages that are not among the ``current`` ones, and all that build on such a stage, in order."""
    found: list[str] = []
    for name, stage in STAGES.items():
        if name not in current or not set(found).isdisjoint(stage.upstream(params)):
            found.append(name)
    return found


def forecast(names: list[str], last: Mapping[str, RunRecord]) -> str:
    """Two lines: what will run, and how long the ``last`` run of each stage took."""
    if not names:
        return "Nothing to run: every stage is up to date."
    took = [f"{name} ({duration(last[name].seconds)})" if name in last else name for name in names]
    known = [last[name].seconds for name in names if name in last]
    also = f"Their last runs took {duration(sum(known))} together. " if known else ""
    return f"To run: {', '.join(took)}.\n{also}A stage whose inputs come out as they were is skipped."


if __name__ == "__main__":
    ArgumentParser(prog="python -m tasks.running.forecast", description=__doc__).parse_args()
    try:
        ran = {row.stage: row for row in records() if row.kind == "stage"}
        print(forecast(due(up_to_date(), load_params()), ran), flush=True)
    except FusesearchError as error:
        sys.exit(f"error: {error}")
