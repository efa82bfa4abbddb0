"""``python -m experiments.students``: stages of a student on fixes that lie here already, in parts that a clock may end.

The stages are the pipeline's own functions, without DVC, Prefect and a network; ``gpu.sh`` beside this file carries them to a
machine that has nothing else. A part that is killed goes on where it was when its command is run again.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
import yaml

from fusesearch.cli.profiles import merged
from fusesearch.core.config import Params, parse_params
from fusesearch.core.overrides import override
from fusesearch.core.schema import Instance, Score
from fusesearch.core.storage import read_instances, read_jsonl, write_instances, write_json, write_text
from fusesearch.core.text import flat_name
from tasks.running.node import Job, Node
from tasks.running.places import CACHES, MAIN, SNAPSHOTS, Places
from tasks.stages import STAGES

ROOT = Path("artifacts/students")
SHOWN = ("file_macro_f1", "function_macro_f1", "f1_macro", "efficiency", "calls", "turns", "tokens_context", "seconds_model")

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
Student = Annotated[str, typer.Argument(help="A profile: nano, smol, coder-0.5b.")]
Changes = Annotated[list[str] | None, typer.Option("--set", help="A param, as sft.epochs=2; may be repeated.")]


def params_of(student: str, changes: Iterable[str]) -> Params:
    """The profile `own` with this student, and changes as ``KEY=YAML``."""
    given = {key: yaml.safe_load(value) for key, _, value in (change.partition("=") for change in changes)}
    return override(parse_params(merged("own", Path(), student), source=student), given, "--set")


@app.command()
def lists(student: Student, changes: Changes = None) -> None:
    """Write the fixes of RL and the held-out ones with the ranker's list, in its order and shuffled, and what trees they need."""
    from fusesearch.code.kinds import is_code
    from fusesearch.localizers.presearch import with_candidates
    from fusesearch.search.snapshots import SnapshotStore, instance_snapshot

    params, trees = params_of(student, changes or []), set()
    snapshot = partial(instance_snapshot, SnapshotStore(SNAPSHOTS), MAIN["mine.repos"], needed=is_code)
    for split in ("validation", "rl"):
        rows = [with_candidates(row, snapshot(row), params.agent, CACHES.index) for row in read_instances(MAIN[f"split.{split}"])]
        write_instances(ROOT / "listed" / f"{split}.parquet", rows)
        write_instances(ROOT / "shuffled" / f"{split}.parquet", [_shuffled(row, params.data_seed) for row in rows])
        trees |= {f"{flat_name(row.repo)} {row.base_commit}\n" for row in rows}
    write_text(ROOT / "trees.txt", "".join(sorted(trees)))


def _shuffled(row: Instance, seed: int) -> Instance:
    issue, head, places = row.problem_statement.rpartition("\n\nCandidates:\n")
    lines = places.splitlines()
    random.Random(f"{seed}/{row.instance_id}").shuffle(lines)
    return row.model_copy(update={"problem_statement": issue + head + "\n".join(lines)})


@app.command()
def run(
    student: Student,
    arm: Annotated[str, typer.Option(help="The folder of what it makes, below artifacts/students.")],
    stages: Annotated[str, typer.Option(help="Which, in their order.")] = "sft,grpo,evaluate",
    fixes: Annotated[str, typer.Option(help="`listed` or `shuffled`: as `lists` made them; else each stage ranks.")] = "",
    changes: Changes = None,
) -> None:
    """Run stages of a student; those that are done are passed over."""
    folder, params = ROOT / arm, params_of(student, changes or [])
    for name in stages.split(","):
        origins = {"sft": folder / "sft", "grpo": folder / "grpo", "evaluate": folder / f"evaluate-{fixes}"}
        if name != "sft" and fixes:
            params, origins["split"] = override(params, {"agent.pre_search": "none"}, "run"), ROOT / fixes
        places = Places(origins)
        if places[f"{name}.metrics"].exists():
            continue
        scratch = folder / "progress" / origins[name].name
        scratch.mkdir(parents=True, exist_ok=True)
        job = Job(Node(stage=name), params, places, scratch, partial(_told, name))
        write_json(places[f"{name}.metrics"], STAGES[name].function()(job))


def _told(stage: str, done: int, of: int) -> None:
    print(stage, done, of, flush=True)


@app.command()
def table(arms: Annotated[list[str], typer.Argument(help="FOLDER:CELL, as smol/evaluate-listed:sft.")]) -> None:
    """Print the figures of cells, and what each differs by from the first on the fixes that both have."""
    from fusesearch.evaluation.metrics import METRICS, Metric
    from fusesearch.evaluation.statistics import averaged, difference, measure

    first = averaged("first", "function", lambda predicted, true: float(any(name in true for name in predicted[:1])))
    shown = [Metric("first", "First function (%)", first, "", percent=True), *(METRICS[key] for key in SHOWN)]
    scores = {arm: {0: _scores(*arm.rsplit(":", 1))} for arm in arms}
    typer.echo(f"| | fixes | {' | '.join(row.heading for row in shown)} |\n|{'---|' * (len(shown) + 2)}")
    for arm, rows in scores.items():
        found = [(measure(rows, row.statistic), row) for row in shown]
        typer.echo(f"| {arm} | {len(rows[0])} | {' | '.join(row.show(m.estimate) if m else '' for m, row in found)} |")
        for other in arms[:1] if arm != arms[0] else []:
            told = [(difference(rows, scores[other], row.statistic), row) for row in shown]
            said = [
                f"{row.show(d.estimate, True)} [{row.show(d.low or 0)}, {row.show(d.high or 0)}]" if d else "" for d, row in told
            ]
            typer.echo(f"| minus {other} | {max(d.instances for d, _ in told if d)} | {' | '.join(said)} |")


def _scores(folder: str, cell: str) -> list[Score]:
    rows = read_jsonl(Places({"evaluate": ROOT / folder})["evaluate.scores"], Score)
    return [row for row in rows if cell == row.arm and row.error is None]


if __name__ == "__main__":
    app(prog_name="python -m experiments.students")
