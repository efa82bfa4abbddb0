"""``python -m tests.trials.mining``: mine the tests' GitHub with and without faults and kills; writes ``RESULTS.md``."""

from __future__ import annotations

import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from experiments.benchmarks.bench import machine
from tests.fakes.github_server.faults import Faults
from tests.trials.mining import collector
from tests.trials.mining.trial import Run, build, kill_points, run

RESULTS = Path(__file__).with_name("RESULTS.md")
POINTS_PER_PAIR = 1.0
FIT = 0.055  # share of pull requests that close an issue and make a pair
FAULTS = 0.2  # share of spoiled answers
KILLS = 10
WORKERS = 2


def mining(
    repositories: Annotated[int, typer.Option(help="Repositories of the world.")] = 50,
    pulls: Annotated[int, typer.Option(help="Pull requests of each.")] = 400,
    seed: Annotated[int, typer.Option(help="Seed of the world, the faults and the kills.")] = 0,
    out: Annotated[Path, typer.Option(help="Page to write.", show_default="RESULTS.md here")] = RESULTS,
) -> None:
    """Exit code 1 when a pair costs more than a point, or when faults and kills change the mined pairs."""
    log = Console(stderr=True).print
    with tempfile.TemporaryDirectory(prefix="fusesearch-mining-") as name:
        root = Path(name)
        world = build(seed, repositories, pulls, FIT, root)
        expected = world.expected()
        log(f"{repositories} repositories with {repositories * pulls:,} pull requests; {len(expected):,} pairs to be found")
        clean = run(world, root / "git", root / "clean", Faults(), [], WORKERS)
        log(f"without faults: {clean.rows:,} pairs, {clean.counts.points:,} points, {clean.seconds:.0f} s")
        places = kill_points(seed, int((clean.counts.graphql + clean.counts.rest) / (1 - FAULTS)), KILLS)
        spoiled = run(world, root / "git", root / "spoiled", Faults(seed, FAULTS), places, WORKERS)
        log(f"with faults, killed {spoiled.kills} times: {spoiled.rows:,} pairs, {spoiled.seconds:.0f} s")
        calls = collector.count(world)
    found = set(clean.digests) == set(expected)
    same = clean.digests == spoiled.digests and clean.rows == spoiled.rows == len(clean.digests)
    cheap = clean.counts.points <= POINTS_PER_PAIR * clean.rows
    merged = sum(len(repository.merged) for repository in world.repositories.values())
    size = f"{repositories} repositories, {repositories * pulls:,} pull requests ({merged:,} merged)"
    out.write_text(_page(size, clean, spoiled, calls, len(expected), (found, cheap, same)), encoding="utf-8")
    log(out.read_text(encoding="utf-8"))
    sys.exit(0 if found and same and cheap else 1)


def _page(size: str, clean: Run, spoiled: Run, calls: collector.Calls, expected: int, goals: tuple[bool, bool, bool]) -> str:
    facts = "\n".join(f"- {name}: {text}" for name, text in machine.describe().items() if name != "versions")
    date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    found, cheap, same = ("yes" if goal else "no" for goal in goals)
    asked = spoiled.counts.graphql + spoiled.counts.rest
    drops = ", ".join(f"{name} {count:,}" for name, count in clean.table["dropped"].items() if count)
    return f"""\
# Mining at scale

`python -m tests.trials.mining`, {date}, against the tests' GitHub: {size}.
Points and requests are the server's own counts; a point is GitHub's
for GraphQL, and a request for REST. For SWE-bench's collector,
`collector.py` counts the REST requests it would make on the same world. It has more pairs, because it keeps texts edited after
the fix, issues opened after the merge and changes of 101 files; and fewer, because it misses issues that only GitHub's own
links name.

{facts}

| | pairs | points | requests | points per pair | requests per pair |
|---|---|---|---|---|---|
{_row("fusesearch", clean.rows, clean.counts.points, clean.counts.graphql + clean.counts.rest)}
{_row("SWE-bench's collector", calls.pairs, calls.requests, calls.requests)}
{_row("fusesearch, with faults and kills", spoiled.rows, spoiled.counts.points, asked)}

| goal | met |
|---|---|
| each of the {expected:,} pairs of the world is found, and nothing else | {found} |
| at most {POINTS_PER_PAIR:g} point per pair | {cheap} |
| {spoiled.faults:,} of {asked:,} answers spoiled, {spoiled.kills} kills (SIGKILL): the same rows, none lost or doubled | {same} |

Merged pull requests without a pair, by reason: {drops}.
The run without faults took {clean.seconds:.0f} s, clones and diffs included; the other {spoiled.seconds:.0f} s.
"""


def _row(name: str, pairs: int, points: int, requests: int) -> str:
    return f"| {name} | {pairs:,} | {points:,} | {requests:,} | {points / max(1, pairs):.2f} | {requests / max(1, pairs):.2f} |"


if __name__ == "__main__":
    typer.run(mining)
