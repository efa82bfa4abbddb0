"""The nano student: a Qwen3-architecture model of a few million parameters with its own byte-level BPE tokenizer.

Two choices let it learn within minutes on a CPU. Words have no leading space, so an identifier has the same tokens in the
issue, in a call and in an observation. And the JSON around a tool call is a handful of single tokens, while the text stays valid
Qwen/Hermes.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fusesearch.core.storage import read_text
from fusesearch.search.tool import Tool
from fusesearch.search.tools import TOOLS

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


def _opening(tool: type[Tool]) -> str:
    """A call up to the value of its first argument; a path always starts with the root."""
    first = tool.required()[0]
    return f'<tool_call>\n{{"name": "{tool.name}", "arguments": {{"{first}": "' + ("/repo/" if first == "path" else "")


BOILERPLATE = (
    *map(_opening, TOOLS.values()),
    '"}}\n</tool_call>',
    "}}\n</tool_call>",
    '", "path": "/repo/',
    '", "path": "/repo"',
    '", "output_mode": "content"}}\n</tool_call>',
    '", "output_mode": "content',
    '", "glob": "',
    '", "start_line": ',
    ', "end_line": ',
    '"',
    "## Locations to Modify\n- /repo/",
    "\n\n## Related Context\n- /repo/",
    "\n- /repo/",
    "/repo/",
    ".py::",
    ".py:",
    ".py",
    "<|im_start|>user\n",
    "<|im_start|>assistant\n",
    "<|im_start|>system\n",
    "<|im_start|>user\n<tool_response>\n",
    "\n<tool_response>\n",
    "\n</tool_response>",
    "No matches",
    "def ",
    "class ",
)

WORDS = r"_?[A-Za-z]+|[0-9]| ?[^\sA-Za-z0-9_]+ ?|_+|\n +|\n+|\s+"

TEMPLATE = read_text(Path(__file__).with_name("student.j2"))


def train_tokenizer(texts: Iterable[str], vocabulary: int) -> Any:
    """A byte-level BPE of ``vocabulary`` entries (boilerplate included) with the nano chat template."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(WORDS), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - len(SPECIAL) - len(BOILERPLATE),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL])
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in BOILERPLATE])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",  # noqa: S106 - the end-of-turn mark, not a secret
        pad_token="<|endoftext|>",  # noqa: S106
        chat_template=TEMPLATE,
        clean_up_tokenization_spaces=False,
        model_max_length=4096,
    )


def new_model(tokenizer: Any, *, hidden: int, layers: int, heads: int, feed_forward: int, seed: int) -> Any:
    """A randomly initialized Qwen3 with tied embeddings; ``hidden`` and ``feed_forward`` are widths."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=feed_forward,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        head_dim=hidden // heads,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
        attention_dropout=0.0,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        use_cache=True,
    )
    model = Qwen3ForCausalLM(config).float()
    torch.nn.init.normal_(model.get_input_embeddings().weight, std=0.06)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    return model
