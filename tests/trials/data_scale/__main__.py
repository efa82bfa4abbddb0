"""Measure filter and split on generated pairs; writes ``tests/trials/data_scale/RESULTS.md``."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import psutil

from tasks.core.config import load_params
from tasks.core.storage import read_json, silent
from tasks.pipeline.places import MAIN
from tasks.pipeline.work.filtering import filter_pairs
from tasks.pipeline.work.splitting import split_instances
from tests.trials.data_scale.generate import generate, write_params

STAGES = {"filter": filter_pairs, "split": split_instances}
RESULTS = Path(__file__).parent / "RESULTS.md"
INTERVAL = 0.2


@contextmanager
def sampled() -> Iterator[list[int]]:
    """Samples of the resident memory of this process and its children together, taken within the block."""
    samples, done, process = [0], threading.Event(), psutil.Process()

    def sample() -> None:
        while not done.wait(INTERVAL):
            samples.append(sum(map(_resident, [process, *process.children(recursive=True)])))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        done.set()
        thread.join()


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def run_stage(stage: str) -> None:
    """Run one stage in the current folder and print its figures as one JSON line."""
    params = load_params()
    scratch = Path("scratch")
    scratch.mkdir(exist_ok=True)
    started = time.perf_counter()
    with sampled() as memory:
        figures = STAGES[stage](params, MAIN, scratch, silent)
    used = time.process_time(), time.perf_counter() - started
    print(json.dumps({"peak_mb": max(memory) / 1e6, "cpu_seconds": used[0], "seconds": used[1], "figures": figures}))


def measured(root: Path, stage: str) -> dict[str, object]:
    """Figures of one stage, run in its own process below ``root``."""
    project = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-m", "tests.trials.data_scale", "--stage", stage],
        cwd=root, env={**os.environ, "PYTHONPATH": str(project)}, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Generate, measure, write the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.trials.data_scale", description=__doc__)
    parser.add_argument("--pairs", type=int, default=100_000, help="raw pairs to generate")
    parser.add_argument("--repositories", type=int, default=200, help="their bare repositories")
    parser.add_argument("--results", type=Path, default=RESULTS, help="page to write")
    parser.add_argument("--stage", choices=list(STAGES), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.stage:
        return run_stage(options.stage)
    with tempfile.TemporaryDirectory(prefix="fusesearch-data-scale-") as folder:
        root = Path(folder)
        generate(root, options.pairs, options.repositories)
        write_params(root)
        rows = {stage: measured(root, stage) for stage in STAGES}
        size = (root / MAIN["mine.pairs"]).stat().st_size
        drops = read_json(root / MAIN["filter.drops"])
    options.results.write_text(page(options, size, rows, drops), encoding="utf-8")
    print(options.results.read_text(encoding="utf-8"))


def page(options: argparse.Namespace, size: int, rows: dict[str, dict[str, object]], drops: dict[str, int]) -> str:
    """The results as Markdown."""
    table = [
        f"| {stage} | {row['peak_mb']:,.0f} MB | {row['seconds']:,.0f} s | {row['cpu_seconds']:,.0f} s |"
        for stage, row in rows.items()
    ]
    dropped = [f"| {rule} | {count:,} |" for rule, count in drops.items() if count]
    return "\n".join(
        [
            "# Filter and split at scale", "",
            f"{options.pairs:,} generated pairs of {options.repositories} repositories and nine hostile rows "
            f"(`data/raw/pairs.parquet`: {size / 1e6:,.0f} MB), preset `strict`, 500 benchmark instances, "
            f"{date.today()}, {os.cpu_count()} cores, Python {platform.python_version()}. "
            "Peak: resident memory of the process and its git children, sampled. Processor time: only of the process.", "",
            "Made by `python -m tests.trials.data_scale`.", "",
            "| stage | peak memory | wall | processor |", "|---|---|---|---|", *table, "",
            "| rule | dropped |", "|---|---|", *dropped, "",
            *(f"{stage}: {json.dumps(row['figures'])}\n" for stage, row in rows.items()),
        ]
    )  # fmt: skip


if __name__ == "__main__":
    main()
