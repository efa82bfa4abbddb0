"""`localize` and `mcp` against the real vLLM, as a new user runs them.

``python -m tests.trials.serving.trial CHECKPOINT`` starts vLLM on this machine's CPU, runs both commands on an issue of a
small repository, compares the episode with that of the same checkpoint without vLLM, and stops vLLM. Exit code 1 when a
command failed or the episodes differ; a wrong or missing answer is no failure, because the model is small.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fusesearch.core.errors import FusesearchError, InfrastructureError
from fusesearch.core.schema import Trajectory
from fusesearch.training import serving
from tests.fakes.background import Server, answers, free_port

NAME = "nano"
PACKAGE = "toolz"
ISSUE = """\
sliding_window gives nothing for a short sequence

    >>> from toolz import sliding_window
    >>> list(sliding_window(3, [1, 2]))
    []

I expected [(1, 2)].
"""
PROGRAM = [sys.executable, "-c", "from fusesearch.cli import main; main()"]
"""The command ``fusesearch``, whichever folder it is installed in."""


def main(arguments: list[str]) -> None:
    """Run everything and print the results."""
    if len(arguments) != 1:
        raise SystemExit("usage: python -m tests.trials.serving.trial CHECKPOINT")
    checkpoint = Path(arguments[0])
    with tempfile.TemporaryDirectory() as folder, running(checkpoint) as url:
        base, repo = Path(folder), repository(Path(folder) / PACKAGE)
        endpoint = ["--model", NAME, "--base-url", url, "--settings", str(checkpoint)]
        served = localize("localize, vLLM", repo, endpoint, base / "served.json")
        local = localize("localize, transformers", repo, ["--checkpoint", str(checkpoint)], base / "local.json")
        same = equal_turns(served, local)
        print(f"\nequal turns of vLLM and transformers: {same} of {len(local.turns)}")
        asyncio.run(ask_over_mcp(repo, endpoint))
    if not same:
        raise InfrastructureError("the first message through vLLM is not that of the checkpoint")


@contextmanager
def running(checkpoint: Path) -> Iterator[str]:
    """Serve ``checkpoint`` with vLLM at the address given; on two busy cores it starts in 30 to 120 s."""
    port, log = free_port(), Path(".fusesearch/vllm.log")
    address = f"http://{serving.HOST}:{port}"
    command = serving.command(checkpoint, name=NAME, port=port)
    vllm = Server("vLLM", command, answers(f"{address}/health"), log, serving.environment())
    print(f"starting vLLM; its log is {log}", flush=True)
    try:
        print(f"it answers after {vllm.start():.0f} s")
        yield f"{address}/v1"
    finally:
        vllm.stop()
        print("vLLM stopped")


def repository(folder: Path) -> Path:
    """The sources of an installed package, committed to a new repository."""
    spec = importlib.util.find_spec(PACKAGE)
    assert spec is not None and spec.origin is not None  # noqa: PT018 - the package is one of the project's
    shutil.copytree(Path(spec.origin).parent, folder / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    git = ["git", "-C", str(folder), "-c", "user.name=trial", "-c", "user.email=trial@example.org"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "sources"]):
        subprocess.run([*git, *arguments], check=True)
    return folder


def localize(title: str, repo: Path, model: list[str], saved: Path) -> Trajectory:
    """`fusesearch localize`. Raises :class:`InfrastructureError` with its message when it fails."""
    options = ["--repo", str(repo), "--issue", "-", "--format", "json", "--save", str(saved)]
    done = subprocess.run([*PROGRAM, "localize", *options, *model], input=ISSUE, capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise InfrastructureError(f"{title}: {done.stderr.strip()}")
    show(title, json.loads(done.stdout))
    return Trajectory.model_validate_json(saved.read_text())


async def ask_over_mcp(repo: Path, model: list[str]) -> None:
    """`localize` of `fusesearch mcp`, from the SDK's client over stdio."""
    from mcp import Client, StdioServerParameters

    rest = [*PROGRAM[1:], "mcp", "--root", str(repo), *model]
    async with Client(StdioServerParameters(command=PROGRAM[0], args=rest, env=dict(os.environ))) as client:
        result = await client.call_tool("localize", {"issue": ISSUE})
    if result.is_error or result.structured_content is None:
        raise InfrastructureError(f"mcp: {result.content}")
    show("mcp, vLLM", result.structured_content)


def show(title: str, found: dict[str, Any]) -> None:
    """Print an answer and its cost."""
    cost = found["trajectory"]
    print(f"\n{title}")
    places = [f"{place['path']}::{place['function'] or ''}".removesuffix("::") for place in found["modify"]]
    print(f"  answer: {', '.join(places) or 'none'} ({cost['stop']})")
    print(f"  {cost['turns']} turns, {cost['calls']} calls, {cost['seconds']:.1f} s, {cost['tokens_billed']} tokens", flush=True)


def equal_turns(one: Trajectory, other: Trajectory) -> int:
    """How many messages the episodes have in common before they differ."""
    texts = zip((turn.text for turn in one.turns), (turn.text for turn in other.turns), strict=False)
    return next((i for i, (a, b) in enumerate(texts) if a != b), min(len(one.turns), len(other.turns)))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except FusesearchError as error:
        sys.exit(f"error: {error}")
