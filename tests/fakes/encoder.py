"""A tiny encoder of the sentence-transformers kind with random weights, as a folder."""

import json
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

SIZE = 16
MODULES = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}


@cache
def shared_encoder() -> str:
    """One for tests that only need some encoder."""
    return str(tiny_encoder(Path(mkdtemp(prefix="encoder-"))))


def tiny_encoder(folder: Path, *, prefix: str = "") -> Path:
    """Writes the encoder into ``folder``: a token for each letter, digit and mark, two layers of BERT."""
    import torch
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *map(chr, range(32, 127))]
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(words), hidden_size=SIZE, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=64, initializer_range=0.5,
    )  # fmt: skip
    fast.save_pretrained(folder)
    BertModel(config).save_pretrained(folder)
    rows = [{"name": kind, "path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in MODULES.items()]
    keep(folder, "modules.json", rows)
    keep(folder, "1_Pooling/config.json", {"word_embedding_dimension": SIZE, "pooling_mode_mean_tokens": True})
    keep(folder, "sentence_bert_config.json", {"max_seq_length": 64, "do_lower_case": False})
    keep(folder, "config_sentence_transformers.json", {"prompts": {"query": prefix}})
    return folder


def keep(folder: Path, name: str, value: object) -> None:
    """Write a JSON file of the encoder."""
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(value))
