"""DVC asked by programs: with a real repository, and a lock that another process holds."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from fusesearch.core.errors import DataError
from tasks.running.dvc_command import is_busy, reason, up_to_date


def dvc(*arguments):
    """What a command prints, its errors too."""
    command = [sys.executable, "-m", "dvc", *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduced")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        dvc("init", "--no-scm", "--quiet")
        (folder / "params.yaml").write_text("profile: toy\n")
        (folder / "dvc.yaml").write_text("stages:\n  a:\n    cmd: echo x > out\n    outs:\n      - out\n")
        dvc("repro", "--quiet")
    (folder / "artifacts/nodes").mkdir(parents=True)  # where nothing has run, DVC is not asked
    return folder


@pytest.fixture
def repository(tmp_path, monkeypatch, reproduced):
    shutil.copytree(reproduced, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_up_to_date_stages_are_found_while_another_process_runs_one(repository):
    (repository / "in").write_text("1")
    (repository / "dvc.yaml").write_text(
        "stages:\n  a:\n    cmd: cp in a\n    deps: [in]\n    outs: [a]\n  b:\n    cmd: cp a b\n    deps: [a]\n    outs: [b]\n"
    )
    assert up_to_date() == set()
    dvc("repro", "--quiet")
    assert up_to_date() == {"a", "b"}
    held = {str(repository / "b"): {"pid": os.getppid(), "cmd": "dvc repro"}}
    (repository / ".dvc/tmp/rwlock").write_text(json.dumps({"read": {}, "write": held}))
    assert up_to_date() == {"a"}
    assert is_busy(dvc("repro", "--force", "--single-item", "b"))
    (repository / "in").write_text("2")
    assert up_to_date() == set()


DAMAGED = (b'{"write": {', b'{"read": {"a": [{"pid": "x"}]}}', b"\xff\xfe{}")


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_lock_file_is_named_with_what_to_do(repository, content):
    (repository / ".dvc/tmp/rwlock").write_bytes(content)
    why = reason(dvc("--wait-for-lock", "repro", "--single-item", "--force", "a"), 255)
    assert why.endswith("`rm .dvc/tmp/rwlock`")
    with pytest.raises(DataError) as raised:
        up_to_date()
    assert str(raised.value) == why
    (repository / ".dvc/tmp/rwlock").unlink()
    assert up_to_date() == {"a"}


@pytest.mark.parametrize(
    ("name", "content"),
    [("dvc.yaml", "stages: [\n"), ("dvc.yaml", "stages:\n  a: {outs: [x]}\n"), ("dvc.lock", "<<<<<<< ours\n")],
)
def test_what_dvc_cannot_read_is_one_line(repository, name, content):
    (repository / name).write_text(content)
    with pytest.raises(DataError, match=rf"^DVC: [^\n]*{name}[^\n]*$"):
        up_to_date()


def test_a_node_is_known_by_its_id(repository):
    (repository / "experiments").mkdir()
    (repository / "experiments/nodes.yaml").write_text("a:\n  a-0123abcd: {arguments: --set=x=1, reads: [out]}\n")
    (repository / "experiments/dvc.yaml").write_text(
        "vars: [nodes.yaml]\nstages:\n  a:\n    foreach: ${a}\n    do:\n      wdir: ..\n"
        "      cmd: echo ${item.arguments} > ${key}\n      deps: ['${item.reads[0]}']\n      outs: ['${key}']\n"
    )
    dvc("repro", "--quiet", "--single-item", "experiments/dvc.yaml:a@a-0123abcd")
    assert up_to_date() == {"a", "a-0123abcd"}
