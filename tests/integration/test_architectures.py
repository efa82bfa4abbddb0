"""Sizes of models by formula beside transformers' own models."""

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from fusesearch.training.architectures import CONFIGS, Architecture


@pytest.mark.parametrize(("name", "published"), [
    ("Qwen/Qwen3-0.6B", 0.6e9), ("Qwen/Qwen3-4B-Instruct-2507", 4.0e9), ("Qwen/Qwen3-8B", 8.2e9),
    ("Qwen/Qwen3-30B-A3B-Instruct-2507", 30.5e9),
    ("Qwen/Qwen2.5-Coder-7B-Instruct", 7.61e9), ("Qwen/Qwen2.5-Coder-32B-Instruct", 32.5e9),
    ("experiments/smol/base", 134_515_008), ("experiments/smol/coder-0.5b", 494_032_768),
])  # fmt: skip
def test_parameters_are_those_of_transformers_own_models_and_of_the_model_cards(name, published):
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**CONFIGS[name]))
    counted = Architecture.of(CONFIGS[name]).parameters
    assert counted == sum(parameter.numel() for parameter in model.parameters())
    assert counted == pytest.approx(published, rel=0.02)
