"""Rollouts of veRL by transformers on a processor: see :mod:`tests.trials.verl_on_cpu`."""

from __future__ import annotations

import os
from typing import Any

import ray
import torch
from verl.utils.config import omega_conf_to_dataclass
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutReplica, TokenOutput

SERVER = "transformers_server"


@ray.remote
class Server:
    """The model in a Ray actor."""

    def __init__(self, checkpoint: str) -> None:
        from transformers import AutoModelForCausalLM

        torch.set_num_threads(1)
        self.model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32).eval()
        self.step = 0

    async def generate(self, request_id: str, prompt_ids: list[int], sampling_params: dict[str, Any], **_: Any) -> TokenOutput:
        """As vLLM's server of veRL."""
        heat, ids, sampled, logprobs = sampling_params["temperature"], torch.tensor([list(prompt_ids)]), [], []
        past: Any = None
        with torch.inference_mode():
            while len(sampled) < sampling_params["max_tokens"]:
                done = self.model(ids, past_key_values=past, use_cache=True)
                past, row = done.past_key_values, (done.logits[0, -1] / (heat or 1)).log_softmax(-1)
                token = int(torch.multinomial(row.exp(), 1) if heat else row.argmax())
                sampled.append(token)
                logprobs.append(float(row[token]))
                if token in sampling_params["stop_token_ids"]:
                    break
                ids = torch.tensor([[token]])
        steps = {"global_steps": self.step}
        return TokenOutput(token_ids=sampled, log_probs=logprobs, stop_reason="completed", extra_fields=steps)

    async def load(self, weights: dict[str, Any], step: int | None) -> None:
        """Other weights."""
        found = self.model.load_state_dict({name: torch.tensor(value) for name, value in weights.items()}, strict=False)
        assert not found.unexpected_keys, found
        assert set(found.missing_keys) <= {"lm_head.weight"}, found  # tied
        self.model.tie_weights()
        self.step = self.step if step is None else step

    async def nothing(self, **_: Any) -> None:
        """Memory stays where it is."""

    wake_up = sleep = clear_kv_cache = release_kv_cache = resume_kv_cache = resume_generation = abort_all_requests = nothing


class Replica(RolloutReplica):
    """One server."""

    async def launch_servers(self) -> None:
        """Start it."""
        model = omega_conf_to_dataclass(self.model_config)
        self._server_address = SERVER
        self._server_handle = Server.options(name=SERVER, num_cpus=0).remote(model.local_path)
        self.servers = [self._server_handle]


class Adapter(BaseRollout):
    """Hands the trained weights to the server."""

    async def resume(self, tags: list[str]) -> None:
        """Nothing."""

    async def release(self) -> None:
        """Nothing."""

    async def update_weights(
        self, weights: Any, wire_format: str = "named_tensors", global_steps: int | None = None, **_: Any
    ) -> None:
        """All ranks gather them, the first hands them over."""
        whole = {name: value.detach().float().cpu().numpy() for name, value in weights}
        if os.environ["RANK"] == "0":
            await ray.get_actor(SERVER).load.remote(whole, global_steps)
