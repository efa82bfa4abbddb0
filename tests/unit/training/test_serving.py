"""How vLLM is started and asked, without vLLM."""

import json

import pytest

from fusesearch.core.errors import ArtifactError, ConfigError
from fusesearch.training import serving


@pytest.fixture
def checkpoint(tmp_path, monkeypatch):
    """A checkpoint that vLLM, as if it were installed, is to serve."""
    (tmp_path / "config.json").write_text('{"dtype": "float32"}')
    monkeypatch.setattr(serving, "ENVIRONMENT", tmp_path / "config.json")
    return tmp_path


def value(command, option):
    return command[command.index(option) + 1]


def test_a_checkpoint_is_served_in_its_own_type_under_a_name(checkpoint):
    command = serving.command(checkpoint, name="mine", port=8123)
    assert value(command, "--model") == str(checkpoint)
    assert value(command, "--served-model-name") == "mine"
    assert value(command, "--dtype") == "float32"


def test_the_type_is_that_of_the_configuration_where_it_says_one(checkpoint):
    for config, dtype in (({"torch_dtype": "bfloat16"}, "bfloat16"), ({}, "auto"), ([], "auto")):
        (checkpoint / "config.json").write_text(json.dumps(config))
        assert serving.saved_dtype(checkpoint) == dtype


def test_unknown_options_go_to_vllm_and_the_server_listens_on_this_machine_alone(checkpoint, monkeypatch):
    seen = []
    monkeypatch.setattr(serving.os, "execve", lambda program, line, environment: seen.extend(line))
    serving.main([str(checkpoint), "--port", "8123", "--max-model-len", "2048"])
    assert value(seen, "--max-model-len") == "2048"
    assert (value(seen, "--host"), value(seen, "--port")) == ("127.0.0.1", "8123")


def test_a_missing_checkpoint_or_environment_is_named(checkpoint, monkeypatch):
    with pytest.raises(ArtifactError, match="holds no checkpoint"):
        serving.command(checkpoint / "none", name="mine", port=8123)
    monkeypatch.setattr(serving, "ENVIRONMENT", checkpoint / "none")
    with pytest.raises(ConfigError, match="make serve-model"):
        serving.main([str(checkpoint)])
