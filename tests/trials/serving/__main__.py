"""``python -m tests.trials.serving``: all that training through vLLM has to show on two cores without a GPU, one after another.

It needs vLLM (`make serve-model`), the splits (`dvc repro split`) and a checkpoint, and takes hours. A show that fails does not
keep the others from running; the exit code is then 1.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from tests.trials.serving.trial import PROGRAM

OUT = Path("artifacts/serving")
PYTEST = ["-m", "pytest", "-q", "-n", "0", "-m", "not gpu"]


def shows(checkpoint: Path, tokenizer: Path | None = None) -> dict[str, tuple[list[str], str]]:
    """For each show the arguments of Python, and where its results lie beside its log."""
    made = ["--checkpoint", str(checkpoint)]
    words = ["--tokenizer", str(tokenizer)] if tokenizer else []
    profiles = sorted(path.stem for path in Path("experiments/profiles").glob("*.yaml"))
    return {
        "engine": ([*PYTEST, "tests/integration/test_vllm_engine.py"], ""),
        "ranks": ([*PYTEST, "tests/integration/test_ranks.py"], ""),
        "kills": (["-m", "tests.trials.serving.kills", "kill", *made], "tests/trials/serving/KILLS.md"),
        **{
            f"rehearse-{name}": ([*PROGRAM[1:], "profile", "rehearse", name, *words], f".fusesearch/rehearsals/{name}")
            for name in profiles
        },
    }


def main(
    checkpoint: Annotated[Path, typer.Option(help="Folder of a trained checkpoint.")] = Path("artifacts/sft/checkpoint"),
    tokenizer: Annotated[Path | None, typer.Option(help="Folder of the tokenizer that rehearsals use.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Name of a show; may be repeated.")] = None,
) -> None:
    """Run them all, and print where the results lie."""
    every = shows(checkpoint, tokenizer)
    if unknown := [name for name in only or [] if name not in every]:
        raise typer.BadParameter(f"unknown show {unknown[0]}; the shows are {', '.join(every)}", param_hint="--only")
    OUT.mkdir(parents=True, exist_ok=True)
    failed = False
    for name in only or every:
        arguments, results = every[name]
        log = OUT / f"{name}.log"
        typer.echo(f"{name}: python {shlex.join(arguments)}")
        with log.open("w", encoding="utf-8") as out:
            code = subprocess.run([sys.executable, *arguments], stdout=out, stderr=subprocess.STDOUT).returncode
        failed = failed or code != 0
        typer.echo(
            f"  {f'failed with exit code {code}' if code else 'ok'}; see {' and '.join(filter(None, (str(log), results)))}"
        )
    raise typer.Exit(int(failed))


if __name__ == "__main__":
    typer.run(main)
