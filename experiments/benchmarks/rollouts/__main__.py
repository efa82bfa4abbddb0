"""``python -m experiments.benchmarks.rollouts speed|train``: the figures behind ``RESULTS.md``.

It takes the issues and repositories that ``dvc repro split`` made, a checkpoint, and the vLLM that ``make serve-model`` installs.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import typer

from fusesearch.core.config import Params, load_params
from fusesearch.core.schema import Trajectory
from fusesearch.core.storage import read_instances
from fusesearch.search.snapshots import SnapshotStore, instance_snapshot
from tasks.running.places import SNAPSHOTS

EPISODES = 50
OUT = Path("artifacts/rollouts")
GAP = "sampling/sampling_logp_difference"
LARGEST = {f"{GAP}/max", "staleness_max", "errored"}
SHOWN = (
    *("reward", "f1", "errored", "step_time", f"{GAP}/mean", f"{GAP}/max", "staleness", "staleness_max"),
    *("publish_seconds", "reload_seconds", "rollout_seconds", "trainer_waited_seconds", "rollouts_waited_seconds"),
)
app = typer.Typer(help=__doc__, add_completion=False)
Checkpoint = Annotated[Path, typer.Option(help="Folder of a trained checkpoint.", metavar="DIR")]
Data = Annotated[Path, typer.Option(help="Folder with splits/rl.parquet and repos.", metavar="DIR")]


async def episodes(model, params: Params, data: Path, count: int, at_once: int, temperature: float) -> list[Trajectory]:  # type: ignore[no-untyped-def]
    """``count`` episodes of ``model``, so many at once, in the order of the instances."""
    from fusesearch.agents.loop import run_episode, run_episodes
    from fusesearch.agents.models.base import Sampling
    from fusesearch.localizers.episodes import make_episode

    instances = read_instances(data / "splits/rl.parquet")[:count]
    store = SnapshotStore(SNAPSHOTS)
    made = [
        make_episode(
            instance, instance_snapshot(store, data / "repos", instance), model, params.agent, params.tools,
            Sampling(temperature=temperature, max_new_tokens=params.agent.max_new_tokens, seed=number), localizer="fusesearch",
        )
        for number, instance in enumerate(instances)
    ]  # fmt: skip
    done = {t.seed: t async for t in run_episodes([partial(run_episode, episode) for episode in made], at_once)}
    await model.close()
    return [done[number] for number in range(len(instances))]


def compare(ours: list[Trajectory], theirs: list[Trajectory]) -> None:
    """Print how many episodes have the same tokens, and how far their log-probabilities are apart."""
    equal, largest = 0, 0.0
    for one, other in zip(ours, theirs, strict=True):
        pairs = [(a.tokens, b.tokens) for a, b in zip(one.turns, other.turns, strict=False) if a.tokens and b.tokens]
        same = [(a, b) for a, b in pairs if (a.prompt_ids, a.completion_ids) == (b.prompt_ids, b.completion_ids)]
        equal += len(same) == len(one.turns) == len(other.turns)
        gaps = [abs(x - y) for a, b in same for x, y in zip(a.logprobs, b.logprobs, strict=True)]
        largest = max([largest, *gaps])
    print(
        f"episodes with equal tokens: {equal} of {len(ours)}; largest difference of log-probabilities {largest:.2g}", flush=True
    )


@app.command()
def speed(checkpoint: Checkpoint, data: Data = Path("data")) -> None:
    """Equality of tokens, episodes a second, and weights published while episodes run."""
    from fusesearch.agents.models.transformers import TransformersModel
    from fusesearch.training.served import Policy
    from fusesearch.training.serving import Servers
    from fusesearch.training.trainer import load_student, quiet
    from fusesearch.training.weights import FileWeights, check_publishing

    quiet()
    params, out = load_params(), OUT
    out.mkdir(parents=True, exist_ok=True)
    student, tokenizer = load_student(checkpoint)
    run = partial(episodes, params=params, data=data)
    with Servers(params.compute, out / "vllm.log", gpus=0) as servers:
        weights = FileWeights((out / "weights").absolute(), servers, tokenizer, "float32")
        started = time.perf_counter()
        servers.start(weights.write(student, 0))
        print(f"vLLM answers after {time.perf_counter() - started:.0f} s", flush=True)
        difference = check_publishing(student, tokenizer, weights, servers, 0.7, "float32")
        print(f"check at the start: mean difference of log-probabilities {difference:.2g}", flush=True)
        policy = Policy(tokenizer, servers.addresses, servers.name, servers.max_context, weights.version)
        sides: dict[str, Callable[[], Any]] = {
            "transformers": partial(TransformersModel, student, tokenizer),
            "vllm": policy.model,
        }
        greedy = [asyncio.run(run(make(), count=EPISODES, at_once=32, temperature=0.0)) for make in sides.values()]
        compare(*greedy)
        for at_once, count in ((1, 16), (8, 64), (32, 128), (64, 128)):
            for name, make in sides.items():
                started = time.perf_counter()
                done = asyncio.run(run(make(), count=count, at_once=at_once, temperature=0.7))
                seconds = time.perf_counter() - started
                errors = sum(t.error is not None for t in done)
                print(f"{name}: {count / seconds:.2f} episodes a second at {at_once} at once, {errors} errored", flush=True)
        publish_in_flight(student, weights, policy, run)
        changed = [asyncio.run(run(make(), count=EPISODES, at_once=32, temperature=0.0)) for make in sides.values()]
        print("after that, with the new weights:")
        compare(*changed)


def publish_in_flight(student, weights, policy, run) -> None:  # type: ignore[no-untyped-def]
    """Change the weights while 32 episodes run."""
    import torch

    found: list[Trajectory] = []
    thread = threading.Thread(
        target=lambda: found.extend(asyncio.run(run(policy.model(), count=32, at_once=32, temperature=0.7)))
    )
    thread.start()
    time.sleep(1)
    with torch.no_grad():
        for number, parameter in enumerate(student.parameters()):
            parameter.mul_(1.01 if number % 2 else 0.99)
    figures = weights.publish(student, 1)
    thread.join()
    told = ", ".join(f"{name} {seconds:.2f}" for name, seconds in figures.items())
    print(f"published with 32 episodes in flight: {told}; {sum(t.error is None for t in found)} of 32 ended well", flush=True)


@app.command()
def train(
    checkpoint: Checkpoint,
    data: Data = Path("data"),
    steps: int = 10,
    seeds: int = 3,
    prompts: Annotated[int, typer.Option(help="Prompts of a step.")] = 8,
    slow_steps: Annotated[int, typer.Option(help="Steps of the trainings with slow tools.")] = 8,
) -> None:
    """GRPO with nano's params: by transformers and by vLLM; by vLLM with slow tools, ahead and not. Logs in artifacts/rollouts.

    One server serves all runs, at its address.
    """
    from fusesearch.training.serving import Servers
    from fusesearch.training.trainer import load_student, quiet
    from fusesearch.training.weights import FileWeights

    quiet()
    params, out = load_params(), OUT
    out.mkdir(parents=True, exist_ok=True)
    student, tokenizer = load_student(checkpoint)
    with Servers(params.compute, out / "vllm.log", gpus=0) as servers:
        servers.start(FileWeights((out / "weights").absolute(), servers, tokenizer, "float32").write(student, 0))
        params = params.model_copy(update={"compute": params.compute.model_copy(update={"servers": servers.addresses})})
        agent = params.agent.model_copy(update={"toolset": "slow"})
        for ahead in (0, 1):
            change = {"steps": slow_steps, "prompts_per_step": prompts, "rollouts": "vllm", "ahead": ahead}
            train_one(f"slow-ahead-{ahead}", params.model_copy(update={"agent": agent}), change, checkpoint, data)
        for seed in range(seeds):
            for rollouts in ("transformers", "vllm"):
                change = {"steps": steps, "prompts_per_step": prompts, "rollouts": rollouts}
                train_one(f"{rollouts}-{seed}", params.model_copy(update={"seed": seed}), change, checkpoint, data)
    report(seeds)


def train_one(name: str, params: Params, change: dict[str, Any], checkpoint: Path, data: Path) -> None:
    """GRPO with its log in ``OUT/name``, unless it has run."""
    from experiments.benchmarks.rollouts import slow
    from fusesearch.training.grpo import train_grpo

    if not (OUT / name / "checkpoint").is_dir():
        section = params.grpo.model_copy(update=change | {"micro_batch": change["prompts_per_step"] * params.grpo.group})
        snapshot = partial(slow.snapshot, SnapshotStore(SNAPSHOTS), data / "repos")
        train_grpo(params, section, data / "splits/rl.parquet", checkpoint, snapshot, OUT / name, on_log=lambda row: None)
    print(f"{name}: {figures(name)}", flush=True)


def figures(name: str) -> dict[str, float]:
    """Means over the steps of a training but the first; of :data:`LARGEST` the largest of all."""
    rows = [json.loads(line) for line in (OUT / name / "log.jsonl").read_text().splitlines()]
    return {key: round((max if key in LARGEST else fmean)([row[key] for row in rows[1:]]), 7) for key in SHOWN if key in rows[-1]}


def report(seeds: int) -> None:
    """Print the tables of ``RESULTS.md``."""
    from scipy.stats import ttest_rel

    from fusesearch.reporting.page import Section, show
    from fusesearch.reporting.table import records_table

    runs = [f"{rollouts}-{seed}" for rollouts in ("transformers", "vllm") for seed in range(seeds)]
    found = {name: figures(name) for name in [*runs, "slow-ahead-0", "slow-ahead-1"]}
    show([Section("", [], [records_table("", [{"run": name, **row} for name, row in found.items()])])])
    rewards = [[found[f"{rollouts}-{seed}"]["reward"] for seed in range(seeds)] for rollouts in ("vllm", "transformers")]
    interval = ttest_rel(*rewards).confidence_interval(0.95)
    print(
        f"reward, vLLM - transformers: {fmean(rewards[0]) - fmean(rewards[1]):+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]"
    )


if __name__ == "__main__":
    app()
