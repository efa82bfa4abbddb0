"""Servers of rollouts: processes that speak vLLM's token protocol, published to, asleep, killed and wrong."""

import json
import os
import signal

import httpx2
import psutil
import pytest
import torch

from fusesearch.core.config import Compute
from fusesearch.core.errors import ConfigError, InfrastructureError
from fusesearch.training import serving
from fusesearch.training.served import ServedPolicy
from fusesearch.training.serving import Servers
from fusesearch.training.trainer import load_student, quiet

pytestmark = pytest.mark.usefixtures("engine")


@pytest.fixture(scope="module")
def server(tmp_path_factory, base):
    """One server for all tests that leave it running: to start one takes seconds."""
    with Servers(Compute(), tmp_path_factory.mktemp("server") / "vllm.log", gpus=0) as servers:
        servers.start(base)
        yield servers


class Setting:
    """A tiny student with a way to publish it to a running server."""

    def __init__(self, folder, base, servers, dtype="float32"):
        self.model, self.tokenizer = load_student(base)
        self.folder = folder / "weights"
        self.servers = servers
        self.weights = ServedPolicy(self.folder, servers, self.tokenizer, dtype)

    def check(self, temperature=0.7):
        return self.weights.check(self.model, temperature)


@pytest.fixture
def setting(tmp_path, base, server):
    it = Setting(tmp_path, base, server)
    it.weights.publish(it.model, 0)
    return it


def end(servers, how):
    """Send a signal to a server, not to the process that watches it."""
    process = servers._servers[0].process
    assert process is not None
    for child in psutil.Process(process.pid).children(recursive=True):
        child.send_signal(how)


def test_the_server_samples_from_the_weights_that_were_published_and_the_model_is_as_before(setting):
    before = {name: value.clone() for name, value in setting.model.state_dict().items()}
    assert setting.check() < 1e-4
    assert all(torch.equal(value, before[name]) for name, value in setting.model.state_dict().items())
    assert setting.model.config.tie_word_embeddings
    versions = [path for path in setting.folder.iterdir() if path.is_dir()]
    assert len(versions) == 2
    assert {json.loads((path / "config.json").read_text())["tie_word_embeddings"] for path in versions} == {False}
    assert setting.weights.version() in {path.name for path in versions}


def test_other_log_probabilities_are_noticed(tmp_path, base, monkeypatch):
    monkeypatch.setenv("RAW", "1")
    with Servers(Compute(), tmp_path / "vllm.log", gpus=0) as servers:
        it = Setting(tmp_path, base, servers)
        it.servers.start(it.weights.write(it.model, 0))
        with pytest.raises(InfrastructureError, match="does not sample from the published weights"):
            it.check()
        end(servers, signal.SIGKILL)
        with pytest.raises(InfrastructureError, match=r"does not take new weights .*: see .*vllm.log, then run the same"):
            it.weights.publish(it.model, 1)


def failing(folder):
    """A program that notes which GPUs it may use and how it allocates, and fails."""
    program = folder / "python"
    seen = f'echo "$CUDA_VISIBLE_DEVICES$PYTORCH_CUDA_ALLOC_CONF" > {folder}/gpus'
    program.write_text(f'#!/bin/sh\n{seen}\necho "Error: no" >&2\nexit 1\n')
    program.chmod(0o755)
    return program


def test_a_server_that_does_not_start_is_one_line(tmp_path, base, monkeypatch):
    servers = Servers(Compute(), tmp_path / "vllm.log", gpus=0)
    monkeypatch.setattr(serving, "ENVIRONMENT", failing(tmp_path))
    with servers, pytest.raises(InfrastructureError, match=r"vLLM at http://127.0.0.1:\d+ ended \(Error: no\): see .*vllm.log"):
        servers.start(base)
    monkeypatch.setattr(serving, "ENVIRONMENT", tmp_path / "nothing")
    with Servers(Compute(), tmp_path / "vllm.log", gpus=0) as servers, pytest.raises(ConfigError, match="vLLM is not installed"):
        servers.start(base)
    with pytest.raises(ConfigError, match="asks for 3 GPUs, and this machine has 2"):
        Servers(Compute(serve=3), tmp_path / "vllm.log", gpus=2)


def test_a_server_gets_the_last_of_the_gpus_that_this_process_may_use_and_not_its_allocator(tmp_path, base, monkeypatch):
    quiet()
    assert os.environ["PYTORCH_CUDA_ALLOC_CONF"] == "expandable_segments:True"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,7,9")
    monkeypatch.setattr(serving, "ENVIRONMENT", failing(tmp_path))
    for options, given in (([], "9"), (["--tensor-parallel-size", "2"], "7,9"), (["-tp=2"], "7,9")):
        compute = Compute(options=options)
        with Servers(compute, tmp_path / "vllm.log", gpus=3) as servers, pytest.raises(InfrastructureError):
            servers.start(base)
        assert (tmp_path / "gpus").read_text() == f"{given}\n"
    with pytest.raises(ConfigError, match="asks for 4 GPUs, and this machine has 3"):
        Servers(Compute(serve=2, options=["-tp", "2"]), tmp_path / "vllm.log", gpus=3)
    with pytest.raises(ConfigError, match=r"compute\.options: .*invalid int"):
        Servers(Compute(options=["-tp", "two"]), tmp_path / "vllm.log", gpus=3)


SLEEPS = Compute(options=["--enable-sleep-mode"])


def test_servers_that_sleep_wake_with_their_weights(tmp_path, base):
    with Servers(SLEEPS, tmp_path / "vllm.log", gpus=0) as servers:
        it = Setting(tmp_path, base, servers)
        servers.start(it.weights.write(it.model, 0))
        it.weights.publish(it.model, 1)
        servers.sleep()
        assert httpx2.post(f"{servers.addresses[0]}/v1/completions", json={}).json() == {"error": {"message": "asleep"}}
        servers.wake()
        assert it.check() < 1e-4


def test_no_room_for_weights_is_one_line(tmp_path, setting):
    (tmp_path / "full").write_text("a file where a folder should be")
    weights = ServedPolicy(tmp_path / "full" / "w", setting.servers, setting.tokenizer, "float32")
    with pytest.raises(InfrastructureError, match=r"weights cannot be written to .*make room there"):
        weights.publish(setting.model, 0)
