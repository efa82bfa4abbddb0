"""A rehearsal of a profile: its stages with its own settings on a small random model of its architecture and a few instances.

What would fail after a day on a cluster (a chat template, a length, a batch size, a missing package) fails in minutes on a CPU.
Every stage runs in a process of its own, without Prefect, DVC and MLflow, inside a folder that holds all it reads and makes.
``python -m tasks.rehearsal STEP`` runs one step in the current folder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from fusesearch.agents.models.base import Message
from fusesearch.agents.models.chat import encode, prompt_ids, training_ids
from fusesearch.core import child
from fusesearch.core.config import Params, load_params, read_mapping
from fusesearch.core.cores import one_openmp_thread
from fusesearch.core.errors import ConfigError, DataError, FusesearchError
from fusesearch.core.overrides import override
from fusesearch.core.schema import Tokens, Trajectory, Turn
from fusesearch.core.storage import read_json, read_trajectories, write_json, write_jsonl
from fusesearch.training.architectures import config_of, folder_of
from fusesearch.training.trainer import quiet
from tasks.running.dvc_command import reason
from tasks.running.node import Job, Node
from tasks.running.places import MAIN, STATE
from tasks.stages import BASE, STAGES, TRAINED

FOLDER = STATE / "rehearsals"
MODEL, WANTED = Path("model"), Path("wanted.json")
PACKAGES = ("toolz", "boltons", "tabulate", "humanize", "voluptuous", "pygtrie", "sortedcontainers", "more_itertools")
"""Small ones to plant faults in; the first is held out."""
LAYERS, WIDTH, HEAD, FEED_FORWARD, EXPERTS = 2, 64, 32, 128, 8

TAUGHT = ("synthesize", "select", "template", "sft")
"""Steps up to the student of a teacher: the scripted one has no program for RepoQA-Agent's tools, and takes FuseSearch's."""

CUTS = read_mapping(Path(__file__).parents[1] / "experiments/rehearsal.yaml")
"""What a rehearsal makes smaller; all else is the profile's own, lengths too."""


@dataclass(frozen=True)
class Step:
    """One line of the table: a stage or a check between stages, how it ended, and what it had less of than the profile asks."""

    name: str
    seconds: float
    error: str
    note: str

    @property
    def ok(self) -> bool:
        """Whether it ran to its end."""
        return not self.error


STEPS = ("model", "mine", "filter", "split", "synthesize", "select", "template", "sft", "verl", "grpo", "evaluate", "report")
"""``verl`` is for profiles that train with it."""


def rehearse(params: Params, tokenizer: Path | None, root: Path, on_step: Callable[[str, str], None]) -> Iterator[Step]:
    """Rehearse a profile in ``root/.fusesearch/rehearsals/<profile>``, which is emptied first. Ends after a step that failed.

    Args:
        params: the profile.
        tokenizer: a folder with its tokenizer and chat template; None: that of the checkpoint on this machine, else nano's.
        root: the checkout.
        on_step: is called with a step's name and what it is doing.

    Raises:
        ConfigError: the sizes of the model are not known.
        DataError: the folder of the tokenizer holds none.
    """
    from fusesearch.training.engines import verl_files
    from fusesearch.training.serving import ENVIRONMENT

    folder = (root / FOLDER / params.profile).absolute()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    source, said = _tokenizer(params, tokenizer, root)
    cut = cut_down(params)
    (folder / "params.yaml").write_text(yaml.safe_dump(cut.model_dump(mode="json"), sort_keys=False), encoding="utf-8")
    write_json(folder / WANTED, {"config": config_of(params.model.base, root), "tokenizer": str(source)})
    (folder / "experiments").symlink_to((root / "experiments").absolute())
    for own in (ENVIRONMENT, verl_files.ENVIRONMENT):
        if (root / own).is_file():
            (folder / own.parts[0]).symlink_to((root / own.parts[0]).absolute())
    for name in (name for name in STEPS if name != "verl" or params.grpo.engine == "verl"):
        started = time.perf_counter()
        on_step(name, "")
        error = _run(name, folder, partial(on_step, name))
        notes = [*_changes(name, params, cut), *_figures(name, folder)]
        if name == "model":
            notes.append(said)
        if name in TRAINED and params.compute.ranks > 1:
            notes.append(f"compute.ranks {params.compute.ranks} -> 1")
        if name in TAUGHT and params.agent.toolset == "repoqa":
            notes.append("agent.toolset repoqa -> questions")
        if name == "grpo" and params.grpo.rollouts != cut.grpo.rollouts:
            notes.append("vLLM is not installed")
        yield Step(name, time.perf_counter() - started, error, "; ".join(notes))
        if error:
            return


def _tokenizer(params: Params, given: Path | None, root: Path) -> tuple[Path, str]:
    source = given or folder_of(params.model.base, root)
    if source and (source / "tokenizer.json").is_file():
        return source.absolute(), f"tokenizer of {source.name if given else params.model.base}"
    if given:
        raise DataError(f"{given} holds no tokenizer (no tokenizer.json)")
    return (root / BASE).absolute(), f"nano's tokenizer and chat template: those of {params.model.base} are not on this machine"


def cut_down(params: Params) -> Params:
    """The params of the rehearsal: those of the profile with :data:`CUTS`, transformers where vLLM is not installed, and TRL's
    trainer: veRL's needs a GPU.
    """
    from fusesearch.data.sources.synthetic.packages import repository_name
    from fusesearch.data.splitting import assign
    from fusesearch.evaluation.environments import environment_named
    from fusesearch.training.serving import vllm_python

    changes = CUTS | {"model.base": str(MODEL), "grpo.engine": "trl"}
    if environment_named(params.agent.toolset).issues is None:
        changes["mine.tasks"] = ["faults", "questions"]
    shares = override(params, changes, "rehearsal").split
    parts: dict[str, list[str]] = {"validation": [PACKAGES[0]], "sft": [], "rl": []}
    for package in PACKAGES[1:]:
        part = parts[assign(repository_name(package), shares, params.data_seed)]
        part.extend([package] * (len(part) < 2))
    changes["mine.packages"] = [package for part in parts.values() for package in part]
    try:
        vllm_python()
        if params.grpo.rollouts == "vllm":  # on a CPU it prefills whole prompts, as long as the model's positions
            changes["compute.options"] = [*params.compute.options, "--max-num-batched-tokens", "262144"]
    except ConfigError:
        changes |= {"grpo.rollouts": "transformers", "evaluate.rollouts": "transformers"}
    size = params.grpo.group
    if size % min(params.grpo.micro_batch, size):
        changes["grpo.micro_batch"] = size
    return override(params, changes, "rehearsal")


def _changes(step: str, params: Params, cut: Params) -> Iterator[str]:
    """What a step reads that is not the profile's, as ``key before -> now``."""
    if step not in STAGES:
        return
    before, now = STAGES[step].values(params), STAGES[step].values(cut)
    for key, value in now.items():
        if key in before and before[key] != value and key not in ("model.base", "mine.packages"):
            yield f"{key} {_short(before[key])} -> {_short(value)}"


def _short(value: Any) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 30 else f"{text[:27]}..."


def _figures(step: str, folder: Path) -> Iterator[str]:
    path = folder / MAIN[f"{step}.metrics"] if step in STAGES else folder / f"{step}.json"
    if not path.is_file() or step == "model":
        return
    shown = {
        "mine": ("pairs",), "filter": ("instances",), "synthesize": ("candidates",), "select": ("selected",),
        "template": ("conversations", "longest", "limit"),
        "sft": ("sequences", "dropped_too_long", "tokens"),
        "verl": ("rows", "held_out"), "grpo": ("steps", "turns", "tokens_context"), "evaluate": ("held_out_instances",),
    }  # fmt: skip
    figures = read_json(path)
    for name in shown.get(step, ()):
        if name in figures:
            yield f"{figures[name]:g} {name}"
    if "said" in figures:
        yield str(figures["said"])
    if figures.get("refused"):
        yield f"the template refuses messages with {' and '.join(figures['refused'])}: such a message ends the stage"


def _run(step: str, folder: Path, on_progress: Callable[[str], None]) -> str:
    """Run a step in its own process; returns its error in one line, empty if it succeeded."""
    here = str(Path(__file__).parents[1])
    environment = {
        **os.environ, "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")])),
    }  # fmt: skip
    printed = []
    with (
        (folder / f"{step}.log").open("w", encoding="utf-8") as log,
        child.start(
            [sys.executable, "-m", "tasks.rehearsal", step],
            cwd=folder, env=environment, text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as process,
    ):  # fmt: skip
        assert process.stdout is not None  # noqa: S101 - a pipe
        try:
            for line in process.stdout:
                if line.startswith(PROGRESS):
                    on_progress(line.removeprefix(PROGRESS).strip())
                else:
                    printed.append(line)
                    log.write(line)
                    log.flush()
        except BaseException:
            child.end(process, seconds=20)
            raise
    return reason("".join(printed), process.returncode) if process.returncode else ""


PROGRESS = "progress: "


def main(step: str) -> None:
    """Run one step in the current folder: a stage, ``model``, ``template`` or ``verl``."""
    one_openmp_thread()
    params = load_params()
    if step in TAUGHT and params.agent.toolset == "repoqa":
        params = override(params, {"agent.toolset": "questions"}, "rehearsal")
    if step in TRAINED:
        quiet()
        from trl.kernels import chunked_logprob

        # TRL 1.16's 4,096 take five times as long with a large vocabulary: they leave a CPU's cache
        chunked_logprob.TOKEN_CHUNK_SIZE = 64
    try:
        if step in STAGES:
            scratch = STATE / "progress" / step
            scratch.mkdir(parents=True)
            job = Job(
                Node(stage=step), params, MAIN, scratch,
                lambda done, total: print(f"{PROGRESS}{done}/{total}", flush=True),
            )  # fmt: skip
            write_json(job.output("metrics"), job.stage.function()(job))
        else:
            write_json(Path(f"{step}.json"), {"model": make_model, "template": check_template, "verl": ask_verl}[step](params))
    except FusesearchError as error:
        sys.exit(f"error: {error}")


def make_model(params: Params) -> dict[str, Any]:
    """Write a random model of the profile's architecture, with few layers and small widths, and its tokenizer."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    wanted = read_json(WANTED)
    tokenizer: Any = AutoTokenizer.from_pretrained(wanted["tokenizer"])
    config: Any = AutoConfig.for_model(**small(wanted["config"], len(tokenizer)))
    config.eos_token_id, config.pad_token_id, config.bos_token_id = tokenizer.eos_token_id, tokenizer.pad_token_id, None
    torch.manual_seed(params.seed)
    model: Any = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        # a common direction in which the end of a message stands out, so that one in 500 tokens of a large vocabulary is it
        model.get_input_embeddings().weight.add_(0.02)
        model.get_output_embeddings().weight[tokenizer.eos_token_id] += 0.125
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.save_pretrained(MODEL)
    tokenizer.save_pretrained(MODEL)
    return {"parameters": sum(parameter.numel() for parameter in model.parameters())}


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


def ask_verl(params: Params) -> dict[str, Any]:
    """Write what veRL's trainer reads. Returns figures, and what was not done."""
    from fusesearch.training.engines.verl_training import Places, prepare
    from tasks.running.places import SNAPSHOTS

    places = Places(Path.cwd(), Path(MAIN["sft.checkpoint"]).absolute(), MAIN["mine.repos"].absolute(), SNAPSHOTS.absolute())
    trained, held_out, _ = prepare(params, params.grpo, MAIN["split.rl"], places)
    return {"rows": trained, "held_out": held_out, "said": "rows and configuration only: veRL's trainer was not run"}


FORMS = {
    "thinking": "<think>\nperhaps\n</think>\n\n",
    "empty thinking": "<think>\n\n</think>\n\n",
    "thinking on one line": "<think>perhaps</think>",
}
"""Openings of messages that a model may write, by what they are called."""


def check_template(params: Params) -> dict[str, Any]:
    """Replay the selected conversations through tokenizer and chat template, turn by turn as rollouts record them.

    Then lengthen one of them to ``sft.max_length``, so that the next stage meets a row of that length. Returns figures, and
    which :data:`FORMS` of messages the template does not keep as they were written. Raises :class:`DataError` if it does not
    keep plain ones, or if a conversation has other tokens in training than in rollouts.
    """
    from transformers import AutoTokenizer

    from fusesearch.agents.conversation import messages_of
    from fusesearch.localizers.episodes import spec_named

    tokenizer: Any = AutoTokenizer.from_pretrained(MODEL)
    instructions = spec_named(params.agent.toolset).instruct(params.agent, "", None)
    trajectories = read_trajectories(MAIN["select.trajectories"])
    lengths = [
        replayed(tokenizer, messages_of(trajectory, instructions.system), instructions.tools) for trajectory in trajectories
    ]
    sample = max(trajectories, key=lambda trajectory: len(trajectory.turns))
    refused = []
    for name, opening in FORMS.items():
        messages = [
            message.model_copy(update={"content": opening + message.content}) if message.role == "assistant" else message
            for message in messages_of(sample, instructions.system)
        ]
        try:
            replayed(tokenizer, messages, instructions.tools)
        except DataError:
            refused.append(name)

    def length(trajectory: Trajectory) -> int:
        return len(training_ids(tokenizer, messages_of(trajectory, instructions.system), instructions.tools)[0])

    widest = max(trajectories, key=lambda trajectory: max(map(_returned, trajectory.turns)))
    long = lengthened(widest, params.sft.max_length, length)
    write_jsonl(MAIN["select.trajectories"], [*trajectories, long])
    return {
        "conversations": len(trajectories), "longest": max([*lengths, length(long)]), "limit": params.sft.max_length,
        "refused": refused,
    }  # fmt: skip


def replayed(tokenizer: Any, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> int:
    """Tokens of a conversation whose messages are recorded one by one, as in rollouts.

    Raises :class:`DataError` if the template rewrites an earlier message, or if training would see other tokens.
    """
    recorded: list[Message] = []
    seen: list[int] = []
    for message in messages:
        if message.role == "assistant":
            prompt = prompt_ids(tokenizer, recorded, tools)
            sampled = [*encode(tokenizer, message.content), tokenizer.eos_token_id]
            tokens = Tokens(prompt_ids=prompt, completion_ids=sampled, logprobs=[0.0] * len(sampled))
            recorded.append(message.model_copy(update={"tokens": tokens}))
            seen = prompt + sampled
        else:
            recorded.append(message)
    if training_ids(tokenizer, messages, tools)[0] != seen:
        raise DataError("the tokenizer gives other tokens for a whole conversation than turn by turn")
    return len(seen)


def lengthened(trajectory: Trajectory, limit: int, length: Callable[[Trajectory], int]) -> Trajectory:
    """The trajectory with its searching turns repeated until ``limit`` tokens are nearly reached, the largest results first."""
    for turn in sorted((turn for turn in trajectory.turns if turn.calls), key=_returned, reverse=True):
        plain = trajectory.turns
        trajectory = trajectory.model_copy(update={"turns": [turn, *plain]})
        while length(trajectory) <= limit:
            trajectory.turns.insert(0, turn)
        trajectory.turns.pop(0)
    return trajectory


def _returned(turn: Turn) -> int:
    return sum(len(observation.output) for observation in turn.observations)


if __name__ == "__main__":
    main(sys.argv[1])
