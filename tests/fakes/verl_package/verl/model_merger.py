"""``python -m verl.model_merger merge --backend fsdp --local_dir DIR --target_dir DIR``: whole weights, in bfloat16."""

import json
import shutil
import sys
from pathlib import Path

from safetensors.numpy import load_file

assert sys.argv[1:5] == ["merge", "--backend", "fsdp", "--local_dir"], sys.argv
shards, target = Path(sys.argv[5]), Path(sys.argv[7])
if not (shards / "fsdp_config.json").is_file():
    raise FileNotFoundError(f"Config file {shards / 'fsdp_config.json'} does not exist.")
shutil.copytree(shards / "huggingface", target, dirs_exist_ok=True)
header, data = {"__metadata__": {"format": "pt"}}, b""
for name, value in load_file(shards / "model_world_size_1_rank_0.pt").items():
    upper = value.view("<u2").ravel()[1::2].tobytes()  # bfloat16 is the upper half of float32
    header[name] = {"dtype": "BF16", "shape": value.shape, "data_offsets": [len(data), len(data) + len(upper)]}
    data += upper
head = json.dumps(header).encode()
(target / "model.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + data)
config = json.loads((target / "config.json").read_text())
(target / "config.json").write_text(json.dumps({**config, "dtype": "bfloat16"}))
