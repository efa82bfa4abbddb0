"""Shared parts of SFT and GRPO: loading the student, trainer arguments, logs and resuming."""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from fusesearch.core.config import Grpo, Lora, Params, Sft
from fusesearch.core.errors import ArtifactError, ConfigError
from fusesearch.training.architectures import Architecture, is_folder
from fusesearch.training.budget import LARGE, training_flop, utilization
from fusesearch.training.ranks import PATIENCE, rank, world_size

logger = logging.getLogger(__name__)

ALPHA = 32
"""What adapters are scaled by: they count ALPHA / rank."""
IMPORTANCE_MAX = 2.0
"""Most that a token counts by the ratio of its probabilities, the trained policy's to that of the servers that sampled it."""


def is_sharded() -> bool:
    """Whether ranks share out the weights: those on GPUs do."""
    import torch

    return world_size() > 1 and torch.cuda.is_available()


def sharded() -> dict[str, Any]:
    """Arguments of FSDP2, with sharded checkpoints. A new dict each time: transformers changes it."""
    return {
        "fsdp": True,
        "fsdp_config": {"state_dict_type": "SHARDED_STATE_DICT", "cpu_ram_efficient_loading": True},
        "ddp_timeout": PATIENCE,
        # else each rank adds up whole gradients, in float32, until the last micro-batch of a step
        "accelerator_config": {"gradient_accumulation_kwargs": {"sync_each_batch": True}},
    }


def quiet() -> None:
    """Silence the libraries' banners and hub look-ups, and set torch's allocator. Call before importing them."""
    os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")  # rows differ in length: else memory splinters
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    logging.getLogger("transformers").setLevel(logging.ERROR)
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()


def load_student(checkpoint: str | Path, dtype: str = "float32", matmul: str = "highest") -> tuple[Any, Any]:
    """Model and tokenizer; from now on this process multiplies float32 as ``matmul`` says.

    Where ranks share out the weights, the first loads them, and the others get their share of them from it.

    Raises :class:`ArtifactError` if a local checkpoint is damaged.

    Weights that train are float32 whatever the passes compute in: a step of 1e-6 is below bfloat16's precision, and would not
    move them.
    """
    import torch
    from transformers import AutoTokenizer

    torch.set_float32_matmul_precision(matmul)
    if is_folder(checkpoint) and not (Path(checkpoint) / "config.json").is_file():
        raise ArtifactError(f"{checkpoint} holds no checkpoint (no config.json): run the stage that makes it")
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(checkpoint))
        model = load_weights(str(checkpoint), getattr(torch, dtype))
    except Exception as error:  # the libraries raise many types for a damaged file
        raise ArtifactError(f"{checkpoint} cannot be loaded: {(str(error).splitlines() or ['damaged'])[0]}") from error
    return model, tokenizer


def load_weights(checkpoint: str, dtype: Any, **options: Any) -> Any:
    """The model of a checkpoint; in ranks but the first that share out its weights, one whose weights take no memory yet."""
    import torch
    from accelerate import init_empty_weights
    from transformers import AutoConfig, AutoModelForCausalLM

    if not (rank() and is_sharded()):
        return AutoModelForCausalLM.from_pretrained(checkpoint, dtype=dtype, **options)
    with init_empty_weights(include_buffers=False):
        model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(checkpoint), dtype=dtype, **options)
    # not on the meta device: accelerate tells parameters apart by their addresses. Memory counts once it is written to
    model._apply(lambda tensor: torch.empty_like(tensor, device="cpu") if tensor.is_meta else tensor)
    model.tie_weights()
    return model


def recomputes(model: Any) -> bool:
    """Whether activations are computed again in the backward pass: for all models but the smallest."""
    return sum(parameter.numel() for parameter in model.parameters()) >= LARGE


def trainer_arguments(out: Path, section: Sft | Grpo, params: Params, bfloat16: bool | None = None) -> dict[str, Any]:
    """Arguments that both trainers take, for this machine's hardware.

    ``bfloat16``: whether passes compute in it; None: on a GPU whose ``model.dtype`` it is.
    """
    import torch

    gpu = torch.cuda.is_available()
    return {
        "output_dir": str(out / "trainer"),
        "learning_rate": section.learning_rate,
        "optim": "adamw_torch",
        "adam_beta2": 0.95,
        "save_steps": section.save_steps,
        "save_total_limit": 1,
        "seed": params.seed,
        "data_seed": params.seed,
        "use_cpu": not gpu,
        "bf16": gpu and params.model.dtype == "bfloat16" if bfloat16 is None else bfloat16,
        "ddp_find_unused_parameters": False,
        # threads share the state of the random numbers, and nothing draws any in a pass
        "gradient_checkpointing_kwargs": {"use_reentrant": False, "preserve_rng_state": False},
        "max_grad_norm": 1.0,
        "report_to": "none",
        "disable_tqdm": True,
        "dataloader_pin_memory": gpu,
        **(sharded() if is_sharded() else {}),
    }


def settle(arguments: Any) -> Any:
    """``arguments`` of a trainer with what their libraries do not let them say."""
    import torch
    from torch.distributed.fsdp import MixedPrecisionPolicy

    if arguments.n_gpu > 1:
        logger.warning("training takes one of this machine's %d GPUs: compute.ranks says how many", arguments.n_gpu)
        arguments._n_gpu = 1  # TRL 1.16 refuses torch's DataParallel, which transformers would use for several
    if arguments.device.type == "cpu":
        arguments._setup_devices = torch.device("cpu")  # torch cannot load an optimizer to cpu:0, as a rank's device is called
    if arguments.fsdp_plugin_args and arguments.bf16:
        # accelerate 1.15 would add gradients up in bfloat16, and round log-probabilities to it
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        arguments.fsdp_plugin_args["mixed_precision_policy"] = policy
    return arguments


def adapters(lora: Lora, seed: int) -> Any:
    """peft's configuration of ``lora``; None if all weights train. ``seed`` is that of the adapters' first values."""
    if not lora.rank:
        return None
    from peft import LoraConfig
    from transformers import set_seed

    set_seed(seed)
    return LoraConfig(r=lora.rank, lora_alpha=ALPHA, target_modules="all-linear", task_type="CAUSAL_LM")


def student_dtype(lora: Lora, params: Params) -> str:
    """The type of the student's weights: of what trains, or of what is computed in where only adapters train."""
    return params.model.dtype if lora.rank else "float32"


def resume_point(out: Path) -> str | None:
    """The last step that a killed run saved whole, or ``None``; deletes one that the kill cut off."""
    steps = {int(folder.name.rpartition("-")[2]): folder for folder in (out / "trainer").glob("checkpoint-*")}
    for step in sorted(steps, reverse=True):
        if (steps[step] / "trainer_state.json").is_file():  # written last
            return str(steps[step])
        shutil.rmtree(steps[step])
    return None


def run_training(trainer: Any, out: Path) -> Any:
    """Train from the last saved step in ``out``, if any, without printing a line for every step."""
    from accelerate.utils import broadcast_object_list
    from transformers import PrinterCallback

    trainer.remove_callback(PrinterCallback)
    (last,) = broadcast_object_list([None if rank() else resume_point(out)])  # other machines may see files later
    return trainer.train(resume_from_checkpoint=last)


def save_checkpoint(trainer: Any, out: Path) -> None:
    """Write ``out/checkpoint`` and delete saved steps; see :func:`write_weights`."""
    write_weights(trainer, out / "checkpoint")
    if not rank():
        shutil.rmtree(out / "trainer", ignore_errors=True)


def write_weights(trainer: Any, folder: Path) -> None:
    """Write a checkpoint: weights, config and tokenizer, by rank 0. All ranks must call it."""
    import torch
    from accelerate.utils import is_peft_model

    weights = whole_weights(trainer.model, torch.float32)
    if rank():
        return
    source = trainer.model.get_base_model() if is_peft_model(trainer.model) else trainer.model
    with torch.device("meta"):
        model = type(source)(source.config)
    model.load_state_dict(weights, assign=True)
    model.tie_weights()
    model.generation_config = source.generation_config
    model.save_pretrained(folder)
    trainer.processing_class.save_pretrained(folder)


def whole_weights(model: Any, dtype: Any) -> dict[str, Any]:
    """The weights as a checkpoint has them, on the CPU, as ``dtype``: shards of the ranks put together, adapters merged.

    All ranks must call it; rank 0 gets all and the others none. A tensor at a time is whole on a GPU. Tied weights are copies,
    not one tensor.
    """
    import torch
    from torch.distributed.tensor import DTensor

    if torch.cuda.is_available():
        torch.cuda.empty_cache()  # what torch keeps of a step: servers on the same GPUs may want it

    def whole(name: str, dtype: Any = None) -> Any:
        value = state[name].detach().to(dtype)
        return value.full_tensor() if isinstance(value, DTensor) else value

    state = model.state_dict()
    weights = {}
    for name in state:
        if ".lora_" in name:
            continue
        value = whole(name, None if name.endswith(".base_layer.weight") else dtype)
        if name.endswith(".base_layer.weight"):
            config = model.peft_config["default"]
            first, second = (whole(name.replace("base_layer", f"lora_{part}.default")) for part in "AB")
            value = value.float() + (config.lora_alpha / config.r) * (second.float() @ first.float())
        if not rank():
            weights[_name(name)] = value.to("cpu", dtype, copy=True)
    return weights


def _name(parameter: str) -> str:
    """The name that a parameter of a model, perhaps with adapters, has in a checkpoint."""
    return parameter.removeprefix("base_model.model.").replace(".base_layer", "")


def throughput(
    lengths: Sequence[int], seconds: float, config: Any, forwards: int = 0, tokens: float | None = None
) -> dict[str, float]:
    """Tokens a second of forward and backward over sequences of ``lengths``, and MFU on GPUs whose peak is known.

    ``tokens``: how many of such sequences it were, if not all. ``forwards``: further forward passes.
    """
    import torch

    total = sum(lengths)
    tokens = total if tokens is None else tokens
    figures = {"tokens_per_second": tokens / seconds}
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    with suppress(ConfigError):  # no formula for this kind of model
        model = Architecture.of(config.to_dict())
        flop = sum(training_flop(model, length, 1, forwards) for length in lengths) * tokens / max(total, 1)
        if (used := utilization(flop, seconds, gpu, world_size())) is not None:
            figures["mfu"] = used
    return figures


def log_callback(
    path: Path, on_log: Callable[[dict[str, float]], None], extra: Callable[[dict[str, float]], dict[str, float]]
) -> Any:
    """A callback that appends each logged row to ``path`` and passes it to ``on_log``.

    ``extra`` adds figures to those of a step. On resuming, rows after the resumed step are dropped, so that no step appears
    twice; without a step to resume from, all of them.
    """
    from transformers import TrainerCallback

    class Log(TrainerCallback):
        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if not state.is_world_process_zero:
                return
            rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
            kept = [row for row in rows if row["step"] <= state.global_step] if state.global_step else []
            path.write_text("".join(json.dumps(row) + "\n" for row in kept))

        def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
            if not state.is_world_process_zero or not logs or "train_runtime" in logs:
                return
            figures = {key: float(value) for key, value in logs.items() if isinstance(value, int | float)}
            log_row(path, on_log, {"step": state.global_step, "steps": state.max_steps, **figures, **extra(figures)})

    return Log()


def log_row(path: Path, on_log: Callable[[dict[str, float]], None], row: dict[str, float]) -> None:
    """Append a row to a training log, and pass it to ``on_log``."""
    with path.open("a", encoding="utf-8") as handle:
        handle.write(json.dumps(row) + "\n")
    on_log(row)
