"""``python -m tests.trials.serving.kills kill``: nano's GRPO over the real vLLM, with one process after another killed.

Each training is a process of its own, as a stage is. Four trainings of four steps: one that nobody disturbs; one with rollouts
made ahead, whose maker of rollouts is killed in step 2; one in two ranks, of which one is killed in step 2; and one whose server
is killed in step 2 and itself in step 3. The last two are then started again. Writes ``KILLS.md``.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import psutil
import typer

from fusesearch.core.config import load_params
from fusesearch.core.errors import FusesearchError
from fusesearch.core.storage import write_text
from fusesearch.search.snapshots import SnapshotStore, instance_snapshot
from fusesearch.training.grpo import train_grpo
from fusesearch.training.serving import Servers
from fusesearch.training.trainer import load_student, quiet
from fusesearch.training.weights import FileWeights
from tasks.running.places import SNAPSHOTS

RESULTS = Path(__file__).parent / "KILLS.md"
OUT = Path("artifacts/kills")
STEPS = 4
INTO = 1.0
"""Seconds from the log of one step to the kill in the next, which is in its rollouts."""

app = typer.Typer(help=__doc__, add_completion=False)
Checkpoint = Annotated[Path, typer.Option(help="Folder of a trained checkpoint.", metavar="DIR")]
Data = Annotated[Path, typer.Option(help="Folder with splits/rl.parquet and repos.", metavar="DIR")]


@app.command()
def one(name: str, checkpoint: Checkpoint, data: Data, server: str = "", ahead: int = 0, ranks: int = 1) -> None:
    """One training, as the stage runs it."""
    params = load_params()
    compute = params.compute.model_copy(update={"servers": [server] if server else [], "ranks": ranks})
    change = {"steps": STEPS, "prompts_per_step": 4, "group": 4, "micro_batch": 8, "rollouts": "vllm", "ahead": ahead}
    section = params.grpo.model_copy(update=change | {"averaged": 0.0, "save_steps": 1})
    snapshot = partial(instance_snapshot, SnapshotStore(SNAPSHOTS), data / "repos")
    splits = data / "splits/rl.parquet"
    try:
        train_grpo(
            params.model_copy(update={"compute": compute}), section, splits, checkpoint, snapshot, OUT / name, on_log=_silent
        )
    except FusesearchError as error:
        sys.exit(f"error: {error}")


@app.command()
def kill(checkpoint: Checkpoint, data: Data = Path("data")) -> None:
    """All four runs, and the page."""
    quiet()
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    rows: list[tuple[str, str, float, list[dict[str, float]]]] = []

    def run(name: str, *options: str, kills: dict[int, Callable[[psutil.Process], psutil.Process]] | None = None) -> None:
        """Start a training; ``kills`` has the process to kill after a step."""
        started = time.monotonic()
        command = [sys.executable, "-m", "tests.trials.serving.kills", "one", name, *options]
        command += ["--checkpoint", str(checkpoint), "--data", str(data)]
        with (OUT / f"{name}.log").open("a+") as log:
            process = psutil.Popen(command, stdout=log, stderr=log, env={**os.environ, "PYTHONPATH": os.getcwd()})
            for step, victim in (kills or {}).items():
                while process.is_running() and process.status() != psutil.STATUS_ZOMBIE and len(logged(name)) < step:
                    time.sleep(0.1)
                time.sleep(INTO)
                victim(process).send_signal(signal.SIGKILL)
            code = process.wait()
            log.seek(0)
            said = (log.read().strip().splitlines() or [""])[-1]
        ended = f"exit code {code}" + (f": {said}" if code > 0 else "")
        label = name + ", again" * any(row[0] == name for row in rows)
        rows.append((label, ended, time.monotonic() - started, logged(name)))
        print(rows[-1][:3], flush=True)

    student, tokenizer = load_student(checkpoint)
    with Servers(load_params().compute, OUT / "vllm.log", gpus=0) as servers:
        servers.start(FileWeights((OUT / "weights").absolute(), servers, tokenizer, "float32").write(student, 0))
        given = ["--server", servers.addresses[0]]
        run("undisturbed", *given)
        run("ahead", "--ahead", "1", *given, kills={1: maker})
        run("ranks", "--ranks", "2", *given, kills={1: second_rank})
        run("ranks", "--ranks", "2", *given)
    run("killed", kills={1: vllm, 2: itself})
    run("killed")
    write_text(RESULTS, page(rows))
    print(RESULTS.read_text(encoding="utf-8"))


def logged(name: str) -> list[dict[str, float]]:
    """The rows of a training's log so far."""
    path = OUT / name / "log.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def vllm(process: psutil.Process) -> psutil.Process:
    """The vLLM server that a training has started."""
    return _alive(process.children(recursive=True), "vllm.entrypoints")[0]


def itself(process: psutil.Process) -> psutil.Process:
    """The training."""
    return process


def _alive(processes: list[psutil.Process], word: str) -> list[psutil.Process]:
    """Those of ``processes`` that run and are called with ``word``, the oldest first."""
    running = [process for process in processes if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]
    return sorted((process for process in running if word in " ".join(process.cmdline()[:4])), key=lambda process: process.pid)


def maker(process: psutil.Process) -> psutil.Process:
    """The process that makes rollouts ahead."""
    return _alive(process.children(), "multiprocessing.spawn")[0]


def second_rank(process: psutil.Process) -> psutil.Process:
    """Rank 1 of 2."""
    return _alive(process.children(), "multiprocessing.spawn")[1]


def page(rows: list[tuple[str, str, float, list[dict[str, float]]]]) -> str:
    """``KILLS.md``."""
    shown = []
    for name, ended, seconds, log in rows:
        cells = [
            ", ".join(f"{row['step']:.0f}" for row in log),
            ", ".join(f"{row['reward']:.4f}" for row in log),
            f"{sum(row['errored'] for row in log):.0f}",
            f"{log[-1]['server_restarts']:.0f}" if log else "",
        ]
        shown.append(f"| {name} | {ended} | {seconds:.0f} s | {' | '.join(cells)} |")
    return "\n".join(
        [
            "# Killed in mid-step of GRPO over vLLM",
            "",
            "`python -m tests.trials.serving.kills kill --checkpoint artifacts/sft/checkpoint`: nano's student, 16 rollouts a",
            "step, the real vLLM on a CPU. In step 2 SIGKILL goes to the process that makes rollouts (`ahead`), to rank 1 of 2",
            "(`ranks`), to the vLLM server (`killed`, and in step 3 to the training itself). `again`: the same command again.",
            "",
            "| run | ended | after | steps in its log | rewards | rollouts errored | servers restarted |",
            "|---|---|---|---|---|---|---|",
            *shown,
            "",
        ]
    )


def _silent(row: dict[str, float]) -> None:
    pass


if __name__ == "__main__":
    app()
