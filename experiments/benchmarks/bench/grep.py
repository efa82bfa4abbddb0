"""The tool ``grep`` against bare ripgrep on sympy.

Both sides run the same binary on the same tree from this process and read all its output. Memory is off, except where it is
what is measured.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median

from experiments.benchmarks.bench.episodes import copy_of, size_of
from experiments.benchmarks.bench.rows import Goal, Measure, Say, Side, interleave, milliseconds, ratio_row, silent, timed
from fusesearch.search import ripgrep
from fusesearch.search.repository import Repository
from fusesearch.search.tools import Toolbox

PACKAGE = "sympy"
Call = tuple[str, str]
"""Pattern and output mode."""

CALLS: tuple[Call, ...] = (
    ("def solve", "files_with_matches"),
    ("Integral", "files_with_matches"),
    ("NothingIsCalledThis", "files_with_matches"),
    (r"class \w*Matrix\b", "content"),
    (r"def _eval_\w+_power", "content"),
    ("raise ValueError", "count"),
)
AT_ONCE = ("def solve", "Integral", "cacheit", r"class \w*Matrix\b", "_eval_power", "raise ValueError", "gcdex", "free_symbols")
_FLAGS = {"files_with_matches": "--files-with-matches", "content": "--line-number", "count": "--count"}
_AGAIN = 200


def measure(quick: bool = False, say: Say = silent) -> list[Measure]:
    """One call, the first call on a tree, eight calls at once, and a repeated call."""
    with copy_of(PACKAGE) as root:
        return measure_on(root, 3 if quick else 25, say)


def measure_on(root: Path, repeats: int, say: Say = silent, calls: Sequence[Call] = CALLS) -> list[Measure]:
    """The rows for the tree below ``root``."""
    with asyncio.Runner() as runner:
        size = f"{PACKAGE}, {size_of(root)}"
        return [
            *_single(root, calls, repeats, runner, say, size),
            *_at_once(root, repeats, runner, say),
            _remembered(root, calls, repeats, runner, say),
        ]


def _single(root: Path, calls: Sequence[Call], repeats: int, runner: asyncio.Runner, say: Say, size: str) -> list[Measure]:
    """The calls one by one; and the first one, which scans the folders of the tree once."""
    warm = Toolbox(_scanned(root), memory_bytes=0)
    sides: dict[str, Side] = {}
    for number, (pattern, mode) in enumerate(calls):
        sides[f"bare {number}"] = timed(partial(_bare, root, pattern, mode))
        sides[f"tool {number}"] = partial(_run, runner, warm, pattern, mode)
    sides["first"] = lambda: runner.run(_call(Toolbox(Repository(root), memory_bytes=0), *calls[0]))
    taken = interleave(sides, repeats, lambda line: say(f"one call: {line}"))
    tool, bare = (
        [sum(each) for each in zip(*(taken[f"{side} {number}"] for number in range(len(calls))), strict=True)]
        for side in ("tool", "bare")
    )
    ratios = [median([a / b for a, b in zip(taken[f"tool {n}"], taken[f"bare {n}"], strict=True)]) for n in range(len(calls))]
    detail = f"{len(calls)} calls in turn {milliseconds(tool)}, bare rg {milliseconds(bare)}; call by call {min(ratios):.2f} to"
    return [
        ratio_row("one call / bare rg", tool, bare, Goal("<=", 1.15), f"{size}; {detail} {max(ratios):.2f}"),
        ratio_row(
            "the first call on a tree / bare rg", taken["first"], taken["bare 0"], None,
            f"{milliseconds(taken['first'])}, once per tree: looks for ignore files that are links",
        ),
    ]  # fmt: skip


def _at_once(root: Path, repeats: int, runner: asyncio.Runner, say: Say) -> list[Measure]:
    """One turn of eight calls, against ``xargs -P`` with as many processes and with one per core."""
    warm, cores = Toolbox(_scanned(root), memory_bytes=0), os.cpu_count() or 1
    sides: dict[str, Side] = {"tool": lambda: runner.run(_together(warm))}
    for processes in sorted({len(AT_ONCE), cores}, reverse=True):
        sides[f"xargs -P {processes}"] = timed(partial(_xargs, root, processes))
    taken = interleave(sides, repeats, lambda line: say(f"eight calls at once: {line}"))
    tool = taken.pop("tool")
    return [
        ratio_row(
            f"8 calls at once / {name} rg", tool, seconds, Goal("<=", 1.0), f"{milliseconds(tool)}, xargs {milliseconds(seconds)}"
        )
        for name, seconds in taken.items()
    ]


def _remembered(root: Path, calls: Sequence[Call], repeats: int, runner: asyncio.Runner, say: Say) -> Measure:
    """A repeated call, against the same call the first time on a scanned tree."""
    first, again = [], []
    for number in range(repeats):
        say(f"the same call again: round {number + 1} of {repeats}")
        box = Toolbox(_scanned(root))
        first.append(sum(runner.run(_call(box, *call)) for call in calls))
        again.append(runner.run(_again(box, calls)))
    detail = f"{milliseconds(first)} for {len(calls)} calls, again {milliseconds(again)}"
    return ratio_row("a call / the same call again", first, again, Goal(">=", 100), detail)


def _bare(root: Path, pattern: str, mode: str) -> None:
    command = [ripgrep.binary(), _FLAGS[mode], f"--regexp={pattern}", "./"]
    subprocess.run(command, cwd=root, capture_output=True, check=False)


def _xargs(root: Path, processes: int) -> None:
    command = ["xargs", "-d", "\n", "-P", str(processes), "-I{}", ripgrep.binary(), "--files-with-matches", "--regexp={}", "./"]
    subprocess.run(command, cwd=root, input="\n".join(AT_ONCE), text=True, capture_output=True, check=False)


def _run(runner: asyncio.Runner, box: Toolbox, pattern: str, mode: str) -> float:
    return runner.run(_call(box, pattern, mode))


async def _call(box: Toolbox, pattern: str, mode: str) -> float:
    started = time.perf_counter()
    await box.call("grep", {"pattern": pattern, "output_mode": mode})
    return time.perf_counter() - started


async def _together(box: Toolbox) -> float:
    started = time.perf_counter()
    await asyncio.gather(*(box.call("grep", {"pattern": pattern}) for pattern in AT_ONCE))
    return time.perf_counter() - started


async def _again(box: Toolbox, calls: Sequence[Call]) -> float:
    """Mean seconds for all calls, each answered from memory."""
    started = time.perf_counter()
    for _ in range(_AGAIN):
        for pattern, mode in calls:
            await box.call("grep", {"pattern": pattern, "output_mode": mode})
    return (time.perf_counter() - started) / _AGAIN


def _scanned(root: Path) -> Repository:
    repository = Repository(root)
    repository.search_flags()
    repository.files()
    return repository
