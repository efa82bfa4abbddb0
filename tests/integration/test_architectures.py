"""Sizes of models by formula beside transformers' own models, and the small models of rehearsals."""

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from fusesearch.training.architectures import CONFIGS, Architecture
from tasks.rehearsal import small


@pytest.mark.parametrize(("name", "published"), [
    ("Qwen/Qwen3-0.6B", 0.6e9), ("Qwen/Qwen3-4B-Instruct-2507", 4.0e9), ("Qwen/Qwen3-8B", 8.2e9),
    ("Qwen/Qwen3-30B-A3B-Instruct-2507", 30.5e9),
    ("Qwen/Qwen2.5-Coder-7B-Instruct", 7.61e9), ("Qwen/Qwen2.5-Coder-32B-Instruct", 32.5e9),
    ("experiments/smol/base", 134_515_008),
])  # fmt: skip
def test_parameters_are_those_of_transformers_own_models_and_of_the_model_cards(name, published):
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**CONFIGS[name]))
    counted = Architecture.of(CONFIGS[name]).parameters
    assert counted == sum(parameter.numel() for parameter in model.parameters())
    assert counted == pytest.approx(published, rel=0.02)


@pytest.mark.parametrize("name", CONFIGS)
def test_the_small_model_is_of_the_same_kind(name):
    full, less = CONFIGS[name], small(CONFIGS[name], min(151_669, CONFIGS[name]["vocab_size"]))
    assert Architecture.of(less).parameters < 0.05 * Architecture.of(full).parameters
    for key in ("model_type", "max_position_embeddings", "tie_word_embeddings", "vocab_size"):
        assert less[key] == full[key]
    assert less["num_attention_heads"] / less["num_key_value_heads"] == full["num_attention_heads"] / full["num_key_value_heads"]
    assert small(full, 2048)["vocab_size"] == 2048
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**small(full, 2048)))
    assert sum(parameter.numel() for parameter in model.parameters()) == Architecture.of(small(full, 2048)).parameters
