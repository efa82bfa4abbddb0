"""A rehearsal of a profile: its stages with its own settings on a small random model of its architecture and a few instances.

What would fail after a day on a cluster (a chat template, a length, a batch size, a missing package) fails in minutes on a CPU.
Every stage runs in a process of its own, without Prefect, DVC and MLflow, inside a folder that holds all it reads and makes.
``python -m tasks.rehearsal STAGE`` runs one stage in the current folder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fusesearch.core.config import Params, load_params, read_mapping
from fusesearch.core.cores import one_openmp_thread
from fusesearch.core.errors import ConfigError, DataError, FusesearchError
from fusesearch.core.overrides import override
from fusesearch.core.storage import write_json
from fusesearch.training.architectures import config_of, folder_of
from tasks.running.dvc_command import reason
from tasks.running.node import Job, Node
from tasks.running.places import MAIN, STATE
from tasks.stages import BASE, STAGES, TRAINED, stage_named

FOLDER = STATE / "rehearsals"
MODEL = Path("model")
LAYERS, WIDTH, HEAD, FEED_FORWARD, EXPERTS = 2, 64, 32, 128, 8
TAUGHT = ("synthesize", "select", "sft")
"""Stages up to the student of a teacher: the scripted one has no program for RepoQA-Agent's tools, and takes FuseSearch's."""
CUTS = Path("experiments/rehearsal.yaml")
"""What a rehearsal makes smaller; all else is the profile's own, lengths too."""


@dataclass(frozen=True)
class Step:
    """The model or a stage, and why it failed, or ""."""

    name: str
    seconds: float
    error: str


def rehearse(params: Params, tokenizer: Path | None, root: Path) -> Iterator[Step]:
    """Rehearse a profile in ``root/.fusesearch/rehearsals/<profile>``, which is emptied first. Ends after a stage that failed.

    Args:
        params: the profile.
        tokenizer: a folder with its tokenizer and chat template; None: that of the checkpoint on this machine, else nano's.
        root: the checkout.

    Raises:
        ConfigError: the sizes of the model are not known.
        DataError: the folder of the tokenizer holds none.
    """
    if tokenizer and not (tokenizer / "tokenizer.json").is_file():
        raise DataError(f"{tokenizer} holds no tokenizer (no tokenizer.json)")
    source = tokenizer or folder_of(params.model.base, root)
    if source is None or not (source / "tokenizer.json").is_file():
        source = root / BASE
    config, cut = config_of(params.model.base, root), cut_down(params, root)
    if source == root / BASE:  # its chat template shows no tools: the system prompt does
        cut = override(cut, {"agent.prompt": "nano"}, "rehearsal")
    folder = (root / FOLDER / params.profile).absolute()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "params.yaml").write_text(yaml.safe_dump(cut.model_dump(mode="json"), sort_keys=False), encoding="utf-8")
    (folder / "experiments").symlink_to((root / "experiments").absolute())
    if (root / ".venv-vllm").is_dir():
        (folder / ".venv-vllm").symlink_to((root / ".venv-vllm").absolute())
    started = time.perf_counter()
    make_model(config, source, folder / MODEL, params.seed)
    yield Step("model", time.perf_counter() - started, "")
    for name in STAGES:
        started = time.perf_counter()
        error = _run(name, folder)
        yield Step(name, time.perf_counter() - started, error)
        if error:
            return


def cut_down(params: Params, root: Path) -> Params:
    """The params of the rehearsal: those of the profile with :data:`CUTS`, and transformers where vLLM is not installed."""
    from fusesearch.evaluation.environments import environment_named
    from fusesearch.training.serving import vllm_python

    changes = read_mapping(root / CUTS) | {"model.base": str(MODEL)}
    if environment_named(params.agent.toolset).issues is None:
        changes["mine.tasks"] = ["faults", "questions"]
    try:
        vllm_python()
        if params.grpo.rollouts == "vllm":  # on a CPU it prefills whole prompts, as long as the model's positions
            changes["compute.options"] = [*params.compute.options, "--max-num-batched-tokens", "262144"]
    except ConfigError:
        changes |= {"grpo.rollouts": "transformers", "evaluate.rollouts": "transformers"}
    if params.grpo.group % min(params.grpo.micro_batch, params.grpo.group):
        changes["grpo.micro_batch"] = params.grpo.group
    return override(params, changes, "rehearsal")


def _run(stage: str, folder: Path) -> str:
    """Run a stage in its own process; returns its error in one line, empty if it succeeded."""
    here = str(Path(__file__).parents[1])
    path = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1", "PYTHONPATH": path}
    log = folder / f"{stage}.log"
    with log.open("w", encoding="utf-8") as printed:
        done = subprocess.run(
            [sys.executable, "-m", "tasks.rehearsal", stage],
            cwd=folder, env=environment, stdout=printed, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    return reason(log.read_text(encoding="utf-8", errors="replace"), done.returncode) if done.returncode else ""


def main(name: str) -> None:
    """Run one stage in the current folder."""
    one_openmp_thread()
    params, scratch = load_params(), STATE / "progress" / name
    if name in TAUGHT and params.agent.toolset == "repoqa":
        params = override(params, {"agent.toolset": "questions"}, "rehearsal")
    if name in TRAINED:
        from trl.kernels import chunked_logprob

        # TRL 1.16's 4,096 take five times as long with a large vocabulary: they leave a CPU's cache
        chunked_logprob.TOKEN_CHUNK_SIZE = 64
    scratch.mkdir(parents=True)
    job = Job(Node(stage=name), params, MAIN, scratch)
    try:
        write_json(job.output("metrics"), stage_named(name).function()(job))
    except FusesearchError as error:
        sys.exit(f"error: {error}")


def make_model(config: Mapping[str, Any], tokenizer_folder: Path, folder: Path, seed: int) -> None:
    """Write a random model of an architecture, with few layers and small widths, and its tokenizer."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(tokenizer_folder)
    made: Any = AutoConfig.for_model(**small(config, len(tokenizer)))
    made.eos_token_id, made.pad_token_id, made.bos_token_id = tokenizer.eos_token_id, tokenizer.pad_token_id, None
    torch.manual_seed(seed)
    model: Any = AutoModelForCausalLM.from_config(made)
    with torch.no_grad():
        # a common direction in which the end of a message stands out, so that one in 500 tokens of a large vocabulary is it
        model.get_input_embeddings().weight.add_(0.02)
        model.get_output_embeddings().weight[tokenizer.eos_token_id] += 0.125
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def small(config: Mapping[str, Any], vocabulary: int) -> dict[str, Any]:
    """The config of a small model of the same kind: as many queries for each key, as many positions, as many tokens.

    The vocabulary is that of the config if it holds the tokenizer's ``vocabulary`` and is not much larger, else the tokenizer's.
    """
    kept = {key: value for key, value in config.items() if key not in ("layer_types", "architectures", "transformers_version")}
    padded = vocabulary <= config["vocab_size"] <= 1.1 * vocabulary  # vocabularies are padded for the GPU's sake
    changed = {
        "num_hidden_layers": LAYERS, "hidden_size": WIDTH, "head_dim": HEAD, "intermediate_size": FEED_FORWARD,
        "num_attention_heads": config["num_attention_heads"] // config["num_key_value_heads"], "num_key_value_heads": 1,
        "vocab_size": config["vocab_size"] if padded else vocabulary, "dtype": "float32",
    }  # fmt: skip
    if "num_experts" in config:
        changed |= {"num_experts": EXPERTS, "num_experts_per_tok": 2, "moe_intermediate_size": FEED_FORWARD // 4}
    if config["model_type"] in ("qwen2", "llama"):  # heads divide the width
        del changed["head_dim"]
        changed["hidden_size"] = HEAD * changed["num_attention_heads"]
    return kept | changed


if __name__ == "__main__":
    main(sys.argv[1])
