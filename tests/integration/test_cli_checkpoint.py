"""`fusesearch localize --checkpoint` on a real, tiny, random checkpoint: loads, searches, ends cleanly under its own limits."""

import json
import shutil

import pytest
from typer.testing import CliRunner

from fusesearch.core.schema import Trajectory
from tests.fakes.commands import app, failed

AGENT = {"prompt": "nano", "max_turns": 3, "max_new_tokens": 16, "max_context_tokens": 512}


@pytest.fixture(scope="module")
def checkpoint(base, tmp_path_factory):
    path = shutil.copytree(base, tmp_path_factory.mktemp("limited") / "checkpoint")
    (path / "fusesearch.json").write_text(json.dumps({"tools": {"grep_lines": 5}, "agent": AGENT}))
    return path


def localize(checkpoint, folder, *options):
    (folder / "code.py").write_text("def prime(n):\n    return n + 1\n")
    given = ["--repo", str(folder), "--issue", "prime(2) gives 3", "--checkpoint", str(checkpoint)]
    return CliRunner().invoke(app, ["localize", *given, *options])


def test_a_checkpoint_searches_under_the_limits_saved_beside_it(checkpoint, tmp_path):
    done = localize(checkpoint, tmp_path, "--format", "json", "--save", str(tmp_path / "t.json"))
    assert done.exit_code in (0, 3), done.output
    assert done.stderr == ""
    cost = json.loads(done.stdout)["cost"]
    saved = Trajectory.model_validate_json((tmp_path / "t.json").read_text())
    assert 1 <= cost["turns"] <= AGENT["max_turns"]
    assert all(turn.usage.completion_tokens <= AGENT["max_new_tokens"] for turn in saved.turns)
    assert all(turn.tokens is not None for turn in saved.turns)


def test_a_damaged_checkpoint_is_one_line(checkpoint, tmp_path):
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for file in checkpoint.iterdir():
        (damaged / file.name).write_bytes(file.read_bytes()[:100] if file.suffix == ".safetensors" else file.read_bytes())
    assert "damaged" in failed(localize(damaged, tmp_path))
