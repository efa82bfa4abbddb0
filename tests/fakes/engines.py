"""The same episodes by GRPO's own rollouts and by another engine: token ids, mask, log-probabilities and reward side by side.

For the rare tests of ``test_environment`` in the environment of veRL or of verifiers. All sides ask one server
(:mod:`tests.fakes.token_server`) that samples by the prompt alone.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fusesearch.agents.models.vllm import VllmModel
from fusesearch.core.config import Grpo, Params
from fusesearch.core.storage import read_instances
from fusesearch.training.environment import SearchTasks, load_tasks
from fusesearch.training.rollouts import Episodes

Row = tuple[list[int], list[int], list[int], list[float], float | None]
"""Prompt ids, completion ids, mask, log-probabilities and reward of an episode."""
Side = Callable[["Setting"], list[Row]]


class Setting:
    """A checkpoint behind a server, and its tasks: ``where`` has the arguments of ``load_tasks``."""

    def __init__(self, checkpoint: Path, address: str, where: dict[str, str]) -> None:
        from transformers import AutoTokenizer

        self.checkpoint, self.address, self.where = checkpoint, address, where
        self.tokenizer = AutoTokenizer.from_pretrained(str(checkpoint))
        self.tasks: SearchTasks = load_tasks(**where)


@contextmanager
def setting(checkpoint: Path, **where: str) -> Iterator[Setting]:
    """A :class:`Setting` while the server runs."""
    import torch

    from tests.fakes.local_server import QuietServer
    from tests.fakes.token_server import Engine, handler_of

    torch.set_num_threads(1)
    os.environ["BY_PROMPT"] = "1"
    server = QuietServer(("127.0.0.1", 0), handler_of(Engine(str(checkpoint), "policy")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield Setting(checkpoint, f"http://127.0.0.1:{server.server_port}", {**where, "settings": str(checkpoint)})
    finally:
        server.shutdown()
        server.server_close()
        del os.environ["BY_PROMPT"]


def by_grpo(given: Setting) -> list[Row]:
    """The rollouts that GRPO's stage trains on."""
    tasks = given.tasks
    params = Params(agent=tasks.agent, tools=tasks.tools)
    policy = VllmModel(given.tokenizer, [given.address], 4096, name="policy")
    episodes = Episodes(params, Grpo(temperature=0.7), tasks.instances, tasks.snapshot, given.tokenizer.eos_token_id)
    columns = episodes.make(list(tasks.instances), 0, policy).columns
    names = ("prompt_ids", "completion_ids", "env_mask", "logprobs", "score")
    return list(zip(*(columns[name] for name in names), strict=True))


class Servers:
    """Stands in for veRL's server manager: the same server, asked for token ids."""

    def __init__(self, given: Setting) -> None:
        self._given = given

    async def generate(self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any]) -> Any:
        """As ``LLMServerClient.generate``."""
        from openai import AsyncOpenAI
        from verl.workers.rollout.replica import TokenOutput

        names = ("temperature", "top_p", "max_tokens")
        extra = {"stop_token_ids": sampling_params["stop_token_ids"]}
        async with AsyncOpenAI(api_key="none", base_url=f"{self._given.address}/v1", max_retries=0) as client:
            asked = {name: sampling_params[name] for name in names}
            reply: Any = await client.completions.create(
                model="policy", prompt=prompt_ids, seed=0, logprobs=0, extra_body=extra, **asked
            )  # fmt: skip
        choice = reply.choices[0]
        return TokenOutput(token_ids=choice.token_ids, log_probs=choice.logprobs.token_logprobs, stop_reason="completed")


def by_verl(given: Setting) -> list[Row]:
    """veRL's worker of agent loops, its own configuration, dataset and registry; only its servers are another."""
    from hydra import compose, initialize_config_dir
    from verl.experimental.agent_loop.agent_loop import AgentLoopWorker
    from verl.utils.dataset.rl_dataset import RLHFDataset, collate_fn

    from fusesearch.training.engines.verl_files import write_rows

    where = given.where
    rows = Path(where["cache"]) / "rows.parquet"
    write_rows(read_instances(Path(where["instances"])), given.tasks, rows)
    profiles = Path(__file__).parents[2] / "experiments" / "profiles" / "verl"
    changes = {
        "hydra.searchpath": "[pkg://verl.trainer.config]",
        "actor_rollout_ref.model.path": given.checkpoint,
        "actor_rollout_ref.rollout.agent.agent_loop_config_path": profiles / "loop.yaml",
        "data.max_prompt_length": 1024,
        "data.max_response_length": 3072,
        "data.filter_overlong_prompts_workers": 1,
        **{f"fusesearch.{name}": where[name] for name in ("repos", "cache", "settings")},
    }
    with initialize_config_dir(str(profiles), version_base=None):
        config = compose("fusesearch-4b", [f"{name}={value}" for name, value in changes.items()])
    worker = AgentLoopWorker(config, Servers(given))
    dataset = RLHFDataset([str(rows)], worker.tokenizer, config.data)

    async def run() -> list[Any]:
        made = []
        worker._agent_loop_postprocess = lambda output, validate, **_: _kept(output)  # before padding
        for number in range(len(dataset)):
            row = {name: values[0] for name, values in collate_fn([dataset[number]]).items() if name != "dummy_tensor"}
            sampling = {"temperature": 0.7, "top_p": 1.0, "top_k": -1, "repetition_penalty": 1.0, "logprobs": True}
            trajectory = {"step": 0, "sample_index": number, "rollout_n": 0, "validate": False}
            made.append(await worker._run_agent_loop(sampling, trajectory, **row))
        return made

    done = asyncio.run(run())
    return [(r.prompt_ids, r.response_ids, r.response_mask, r.response_logprobs, r.reward_score) for r in done]


async def _kept(output: Any) -> Any:
    return output


def script_of(first: str) -> str:
    """The script of docs/environment.md whose first line is or names ``first``."""
    page = Path(__file__).parents[2] / "docs" / "environment.md"
    scripts = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    (script,) = [script for script in scripts if first in script.partition("\n")[0]]
    return script


def by_verifiers(given: Setting) -> list[Row]:
    """verifiers' own environment with its client for training, as prime-rl runs it."""
    import verifiers.v1 as vf

    where = Path(given.where["cache"]) / "verifiers"
    where.mkdir(parents=True)
    (where / "code_localization.py").write_text(script_of("code_localization.py"))
    sys.path.insert(0, str(where))
    renderer = {"name": "custom", "import_path": "code_localization:ChatRenderer"}
    client = {"base_url": f"{given.address}/v1", "renderer": renderer, "renderer_model_name": str(given.checkpoint)}
    taskset = {"id": "code_localization", **given.where}
    env = vf.load_environment(vf.resolve_env_config({"taskset": taskset, "agent": {"runtime": {"type": "subprocess"}}}))
    sampling = vf.SamplingConfig(temperature=0.7, max_tokens=given.tasks.agent.max_new_tokens)
    ctx = vf.ModelContext(client=vf.TrainClientConfig(**client), model="policy", sampling=sampling)

    async def run() -> list[Row]:
        slots = [slot for task in env.taskset for slot in env.slots(task, 1)]
        async with env.serving():
            episodes = await asyncio.gather(*(env.run_slot(slot, ctx, asyncio.Semaphore(8), None) for slot in slots))
        return [_row(trace) for episode in episodes for trace in episode.traces]

    return asyncio.run(run())


def _row(trace: Any) -> Row:
    assert trace.ok, trace.errors
    (branch,) = trace.branches
    ids, mask, logprobs = branch.token_ids, [int(sampled) for sampled in branch.sampled_mask], branch.logprobs
    first = mask.index(1)
    return ids[:first], ids[first:], mask[first:], logprobs[first:], trace.reward


SIDES: dict[str, Side] = {"verl": by_verl, "verifiers": by_verifiers}


def differences(one: list[Row], other: list[Row]) -> dict[str, float]:
    """How many episodes differ in ids, mask or reward, and the largest difference of a log-probability."""
    pairs = list(zip(one, other, strict=True))
    names = ("prompt_ids", "completion_ids", "mask")
    counts = {name: float(sum(a[at] != b[at] for a, b in pairs)) for at, name in enumerate(names)}
    counts["reward"] = float(sum(a[4] is None or b[4] is None or abs(a[4] - b[4]) > 1e-9 for a, b in pairs))
    gaps = [abs(x - y) for a, b in pairs for x, y in zip(a[3], b[3], strict=False)]
    return {"episodes": float(len(pairs)), **counts, "logprobs": max(gaps, default=0.0)}
