"""DVC asked by programs: with a real repository, and a lock that another process holds."""

import json
import os
import subprocess
import sys

import pytest

from tasks.core.dvc_command import dvc
from tasks.core.errors import DataError
from tasks.experiments.jobs import Job, outdated

pytestmark = pytest.mark.slow


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dvc("init", "--no-scm", "--quiet")
    (tmp_path / "dvc.yaml").write_text("stages:\n  a:\n    cmd: echo x > out\n    outs:\n      - out\n")
    dvc("repro", "--quiet")
    return tmp_path


def test_what_is_held_is_waited_for_and_told_when_it_takes_too_long(repository):
    holder = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    held = {str(repository / "out"): {"pid": holder.pid, "cmd": "dvc repro"}}
    (repository / ".dvc/tmp/rwlock").write_text(json.dumps({"read": {}, "write": held}))
    with pytest.raises(DataError, match="another `dvc repro` is running here"):
        dvc("status", "--json", "a", tries=1)
    holder.communicate(b"\n")
    assert json.loads(dvc("status", "--json", "a")) == {}


def test_what_is_outdated_is_known_while_another_process_is_at_another_stage(repository):
    (repository / "in").write_text("1")
    (repository / "dvc.yaml").write_text(
        "stages:\n  a:\n    cmd: cp in a\n    deps: [in]\n    outs: [a]\n  b:\n    cmd: cp a b\n    deps: [a]\n    outs: [b]\n"
    )
    jobs = [Job("a", "a", (), main=True), Job("b", "b", ("a",), main=True)]
    assert outdated(jobs) == {"a", "b"}
    dvc("repro", "--quiet")
    assert outdated(jobs) == set()
    held = {str(repository / "b"): {"pid": os.getpid(), "cmd": "dvc repro"}}
    (repository / ".dvc/tmp/rwlock").write_text(json.dumps({"read": {}, "write": held}))
    assert outdated(jobs[:1]) == set()
    (repository / "in").write_text("2")
    assert outdated(jobs[:1]) == {"a"}


def test_what_dvc_refuses_is_one_line(repository):
    with pytest.raises(DataError, match=r"dvc status failed: ERROR: .*nothing") as refused:
        dvc("status", "nothing")
    assert "\n" not in str(refused.value)
