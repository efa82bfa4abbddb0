"""``python -m verl.model_merger merge --backend fsdp --local_dir DIR --target_dir DIR``: whole weights, in bfloat16."""

import sys
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

assert sys.argv[1:5] == ["merge", "--backend", "fsdp", "--local_dir"], sys.argv
shards, target = Path(sys.argv[5]), Path(sys.argv[7])
if not (shards / "fsdp_config.json").is_file():
    raise FileNotFoundError(f"Config file {shards / 'fsdp_config.json'} does not exist.")
state = torch.load(shards / "model_world_size_1_rank_0.pt")
model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(shards / "huggingface"), dtype=torch.bfloat16)
model.load_state_dict({name: value.bfloat16() for name, value in state.items()})
model.save_pretrained(target)
AutoTokenizer.from_pretrained(shards / "huggingface").save_pretrained(target)
