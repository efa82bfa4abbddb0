"""``python -m experiments.benchmarks.gpu``: what training costs on this machine's GPU, beside the formulas of ``doctor``.

Weights are random, in the sizes of ``fusesearch/training/architectures.py``; nothing is downloaded. The trainers are those of the
stages ``sft`` and ``grpo``. ``--tiny`` runs all of it on small shapes, without a GPU too.
"""

from __future__ import annotations

import gc
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any
from unittest.mock import patch

import typer

from fusesearch.core.config import Params, parse_params
from fusesearch.core.schema import Instance, Score
from fusesearch.reporting.page import Section, show
from fusesearch.reporting.table import records_table
from fusesearch.training.architectures import CONFIGS, Architecture
from fusesearch.training.budget import gib, training_bytes, training_flop, utilization
from tasks.rehearsal import small

STEPS, GROUP = 3, 2
PRIME = "prime-rl on an H100"
MODELS = {"0.6B": "Qwen/Qwen3-0.6B", "4B": "Qwen/Qwen3-4B-Instruct-2507"}
LENGTHS, TINY = (4096, 16_384, 32_768, 81_920), (64, 128)
PUBLISHED = {
    ("0.6B", "sft", 0, 16_384): "23.7%, 25,500",
    ("0.6B", "grpo", 0, 16_384): "11.1%, 11,900",
    ("4B", "grpo", 16, 16_384): "21.7%, 6,200",
}
"""MFU and tokens a second of prime-rl on one H100 by model, trainer, rank of the adapters and length (its BENCHMARKS.md)."""


@dataclass
class Machine:
    """Where it runs, and with which shapes."""

    tiny: bool
    folder: Path
    longest: int = LENGTHS[-1]
    models: dict[str, str] = field(default_factory=lambda: MODELS)
    device: str = field(init=False)
    name: str = field(init=False)

    def __post_init__(self) -> None:
        import torch

        gpu = torch.cuda.is_available()
        self.device, self.name = ("cuda", torch.cuda.get_device_name()) if gpu else ("cpu", "CPU")

    @property
    def lengths(self) -> list[int]:
        """Tokens of a row."""
        return [length for length in (TINY if self.tiny else LENGTHS) if length <= self.longest]

    def config(self, base: str) -> dict[str, Any]:
        """The sizes of a model, small ones for ``--tiny``."""
        return small(CONFIGS[base], 4096) if self.tiny else CONFIGS[base]

    def model(self, base: str, dtype: str = "float32") -> Any:
        """A model with random weights."""
        import torch
        from transformers import AutoConfig, AutoModelForCausalLM

        torch.manual_seed(0)
        with torch.device(self.device):
            return AutoModelForCausalLM.from_config(
                AutoConfig.for_model(**self.config(base)), dtype=getattr(torch, dtype), attn_implementation="sdpa"
            )

    def synchronize(self) -> None:
        """Wait for the GPU."""
        import torch

        if self.device == "cuda":
            torch.cuda.synchronize()

    def peak(self) -> str:
        """Most GiB that were reserved since the last call of :meth:`emptied`; "" without a GPU."""
        import torch

        return f"{gib(torch.cuda.max_memory_reserved()):.1f}" if self.device == "cuda" else ""

    def emptied(self) -> None:
        """Free the GPU's memory."""
        import torch

        gc.collect()
        if self.device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()


def params_of(length: int, lora: int = 0, grpo: dict[str, Any] | None = None) -> Params:
    """Params of one row a pass of ``length`` tokens, with changes of ``grpo``."""
    common = {"micro_batch": 1, "learning_rate": 1e-6, "lora": {"rank": lora}}
    return parse_params(
        {
            "model": {"base": "random", "dtype": "bfloat16"},
            "agent": {"max_context_tokens": length, "max_new_tokens": length // 2},
            "sft": {**common, "batch_size": 1, "max_length": length, "epochs": 1, "warmup_ratio": 0},
            "grpo": {
                **common,
                "prompts_per_step": 1,
                "group": GROUP,
                "steps": STEPS,
                "kl": 0.0,
                "rollouts": "vllm",
                **(grpo or {}),
            },
        }
    )


def rows_of(lengths: list[int]) -> list[dict[str, list[int]]]:
    """Rows of SFT. One token in ten is trained."""
    draw = random.Random(0)
    rows = []
    for length in lengths:
        ids = [draw.randrange(500, 2000) for _ in range(length)]
        rows.append({"input_ids": ids, "labels": [-100] * (length - length // 10) + ids[length - length // 10 :]})
    return rows


@contextmanager
def steps_timed(machine: Machine) -> Iterator[list[float]]:
    """The seconds of each step of a trainer that runs inside, and that saves nothing."""
    from transformers import PrinterCallback, TrainerCallback
    from transformers.trainer_utils import SaveStrategy

    from fusesearch.training import sft

    seconds: list[float] = []

    class Clock(TrainerCallback):
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            machine.synchronize()
            self.started = time.perf_counter()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            machine.synchronize()
            seconds.append(time.perf_counter() - self.started)

    def run(trainer: Any, out: Path) -> Any:
        trainer.args.save_strategy = SaveStrategy.NO
        trainer.remove_callback(PrinterCallback)
        trainer.add_callback(Clock())
        return trainer.train()

    with patch.object(sft, "run_training", run), patch.object(sft, "save_checkpoint"):
        yield seconds


def sft_steps(machine: Machine, model: Any, tokenizer: Any, params: Params, rows: list[dict[str, list[int]]]) -> list[float]:
    """Train with the stage's trainer; seconds of each step."""
    from fusesearch.training.sft import fit

    with steps_timed(machine) as seconds:
        fit(model, tokenizer, rows, params.sft, params, machine.folder / "sft", lambda row: None)
    return seconds


def grpo_steps(machine: Machine, model: Any, tokenizer: Any, params: Params, lengths: list[int]) -> list[float]:
    """Train with the stage's trainer, as with rollouts by vLLM; seconds of each step without rollouts."""
    from fusesearch.training import grpo, sft
    from fusesearch.training.rollouts import Batch, Episodes

    prompt = min(lengths) // 8
    rows = [(row["input_ids"], [int(label != -100) for label in row["labels"]]) for row in rows_of(lengths)]
    scores = [Score(instance_id="i", reward=float(number)) for number in range(len(lengths))]
    columns: dict[str, list[Any]] = {
        "prompt_ids": [rows[0][0][:prompt]] * len(rows),
        "completion_ids": [ids[prompt:] for ids, _ in rows],
        "logprobs": [[-1.0] * (len(ids) - prompt) for ids, _ in rows],
        "env_mask": [mask[prompt:] for _, mask in rows],
        "score": [score.reward for score in scores],
    }
    batch = Batch(columns, scores)
    tasks = {"i": Instance(instance_id="i", repo="o/r", base_commit="", problem_statement="It fails.")}
    episodes = Episodes(params, params.grpo, tasks, _no_snapshot, tokenizer.eos_token_id)
    with steps_timed(machine) as seconds:
        rollouts = grpo.Rollouts(lambda ids, trainer: batch)
        out = machine.folder / "grpo"
        out.mkdir(exist_ok=True)
        run = grpo.Run(episodes, model, tokenizer, rollouts, None, out / "log.jsonl", lambda row: None)
        trainer = grpo._trainer(run)
        trainer.use_vllm, trainer._last_loaded_step = True, -1
        trainer.vllm_generation = SimpleNamespace(sync_weights=lambda: None)
        sft.run_training(trainer, out)
    return seconds


def _no_snapshot(instance: Instance) -> Any:
    raise AssertionError("these rollouts read no repository")


def training(machine: Machine, tokenizer: Any) -> Iterator[dict[str, str]]:
    """Memory and speed of a step of SFT and of GRPO, of all weights and of adapters."""
    import torch

    for model_name, base in machine.models.items():
        shape = Architecture.of(machine.config(base))
        for lora in (0, 16):
            for trainer in ("sft", "grpo"):
                for length in machine.lengths:
                    formula = training_bytes(shape, length, lora=lora)
                    row = {
                        "model": model_name, "trains": f"adapters of rank {lora}" if lora else "all", "by": trainer,
                        "tokens a row": f"{length:,}", "GiB by the formula": f"{gib(formula):.1f}",
                    }  # fmt: skip
                    machine.emptied()
                    try:
                        model = machine.model(base, "bfloat16" if lora else "float32")
                        params = params_of(length, lora)
                        if trainer == "sft":
                            seconds = sft_steps(machine, model, tokenizer, params, rows_of([length] * STEPS))
                        else:
                            seconds = grpo_steps(machine, model, tokenizer, params, [length] * GROUP)
                    except torch.cuda.OutOfMemoryError:
                        yield row | {"GiB": "out of memory"}
                        continue
                    finally:
                        model = None
                    rows = 1 if trainer == "sft" else GROUP
                    best = min(seconds[1:])
                    used = utilization(training_flop(shape, length, rows), best, machine.name)
                    yield row | {
                        "GiB": machine.peak(), "s a step": f"{best:.2f}",
                        "tokens a second": f"{rows * length / best:,.0f}", "MFU": f"{used:.1%}" if used else "",
                        PRIME: PUBLISHED.get((model_name, trainer, lora, length), ""),
                    }  # fmt: skip


def passes(machine: Machine, tokenizer: Any) -> Iterator[dict[str, str]]:
    """GRPO of 32 rollouts as long as conversations: one a pass, and by tokens: padded, and one after another."""
    from fusesearch.training import grpo, passes

    limit, lengths = conversations(machine)
    for kind, tokens, padded in (("1 row", 1, True), ("by tokens, padded", 2 * limit, True), ("by tokens", 2 * limit, False)):
        machine.emptied()
        model = machine.model(MODELS["0.6B"])
        params = params_of(limit, grpo={"group": len(lengths), "tokens_per_pass": tokens})
        with patch.object(grpo, "use_flash_attention") if padded else nullcontext():
            best = min(grpo_steps(machine, model, tokenizer, params, lengths)[1:])
        if model.config._attn_implementation.startswith("flash") == padded:
            yield {"a pass": kind, "tokens a second": "no flash attention here"}
            continue
        made, speed = str(len(passes.in_passes(lengths, tokens, padded))), f"{sum(lengths) / best:,.0f}"
        yield {"a pass": kind, "passes": made, "s a step": f"{best:.2f}", "tokens a second": speed, "GiB": machine.peak()}


def conversations(machine: Machine) -> tuple[int, list[int]]:
    """The longest row, and lengths of 32 conversations up to it."""
    draw, limit = random.Random(0), min(16_384, machine.lengths[-1])
    return limit, [min(limit, max(limit // 16, int(draw.lognormvariate(0, 0.6) * limit / 4))) for _ in range(32)]


SUBJECTS: dict[str, Callable[[Machine, Any], Iterator[dict[str, str]]]] = {"training": training, "passes": passes}


def main(
    only: Annotated[list[str] | None, typer.Option(help=f"One of {', '.join(SUBJECTS)}; may be repeated.")] = None,
    model: Annotated[str | None, typer.Option(help=f"Only {' or '.join(MODELS)}, for training.")] = None,
    longest: Annotated[int, typer.Option(help="Longest row in tokens.", min=TINY[0])] = LENGTHS[-1],
    tiny: Annotated[bool, typer.Option(help="Small shapes, to see that it runs.")] = False,
) -> None:
    """Measure memory and speed of steps, and of passes. A whole run takes about half an hour on an H100."""
    if unknown := [name for name in only or [] if name not in SUBJECTS]:
        raise typer.BadParameter(f"unknown subject {unknown[0]}; the subjects are {', '.join(SUBJECTS)}", param_hint="--only")
    if model and model not in MODELS:
        raise typer.BadParameter(f"unknown model {model}; the models are {', '.join(MODELS)}", param_hint="--model")
    from transformers import AutoTokenizer

    from fusesearch.training.trainer import quiet

    quiet()
    tokenizer = AutoTokenizer.from_pretrained(str(Path(__file__).parents[1] / "nano/base"))
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(tiny, Path(folder), longest, {model: MODELS[model]} if model else MODELS)
        if not machine.lengths:
            raise typer.BadParameter(f"the shortest row has {(TINY if tiny else LENGTHS)[0]:,} tokens", param_hint="--longest")
        for name in only or SUBJECTS:
            about = f"{(SUBJECTS[name].__doc__ or '').strip()} {machine.name}."
            rows = []
            for row in SUBJECTS[name](machine, tokenizer):
                typer.echo(", ".join(f"{key} {value}" for key, value in row.items() if value), err=True)
                rows.append(row)
            show([Section(name, [], [records_table(about, rows)])])


if __name__ == "__main__":
    typer.run(main)
