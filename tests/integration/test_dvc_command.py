"""DVC asked by programs: with a real repository, and a lock that another process holds."""

import json
import logging
import os
import shutil
import subprocess
import sys

import pytest

from flows import versions
from tasks.core.errors import DataError
from tasks.pipeline.dvc_command import dvc
from tasks.pipeline.experiments.jobs import up_to_date


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduced")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        dvc("init", "--no-scm", "--quiet")
        (folder / "dvc.yaml").write_text("stages:\n  a:\n    cmd: echo x > out\n    outs:\n      - out\n")
        dvc("repro", "--quiet")
    return folder


@pytest.fixture
def repository(tmp_path, monkeypatch, reproduced):
    shutil.copytree(reproduced, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_is_held_is_waited_for_and_told_when_it_takes_too_long(repository):
    holder = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    held = {str(repository / "out"): {"pid": holder.pid, "cmd": "dvc repro"}}
    (repository / ".dvc/tmp/rwlock").write_text(json.dumps({"read": {}, "write": held}))
    with pytest.raises(DataError, match="another process runs a stage here"):
        dvc("status", "--json", "a", tries=1)
    holder.communicate(b"\n")
    assert json.loads(dvc("status", "--json", "a")) == {}


def test_a_stage_that_this_process_runs_is_left_alone_by_dvc_and_recorded(repository, monkeypatch):
    with versions.held("a", waits=pytest.fail) as record:
        (repository / "out").unlink()  # DVC's own link may be read-only
        (repository / "out").write_text("half")
        with pytest.raises(DataError, match="another process runs a stage here"):
            dvc("repro", "--single-item", "--force", "a", tries=1)
        assert (repository / "out").read_text() == "half"
        (repository / "out").write_text("whole")
        record()
    assert json.loads(dvc("status", "--json", "a")) == {}
    assert (repository / "out").read_text() == "whole"


def test_what_dvc_runs_is_waited_for_before_this_process_runs_it(repository, monkeypatch):
    monkeypatch.setattr(versions, "RETRY_SECONDS", 0.1)
    holder = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    reader = {str(repository / "out"): [{"pid": holder.pid, "cmd": "dvc repro"}]}
    (repository / ".dvc/tmp/rwlock").write_text(json.dumps({"read": reader, "write": {}}))
    waited = []
    with pytest.raises(DataError, match="or reads what it made"), versions.held("a", lambda: waited.append(1), tries=2):
        pytest.fail("it is held")
    assert waited == [1]
    with versions.held("a", lambda: holder.communicate(b"\n"), tries=50):
        assert holder.poll() == 0


def test_outputs_that_are_not_there_cannot_be_recorded(repository):
    with versions.held("a", waits=pytest.fail) as record:
        (repository / "out").unlink()
        with pytest.raises(DataError, match=r"dvc commit failed: .*out"):
            record()


@pytest.mark.parametrize("complete", [True, False])
def test_what_is_complete_is_recorded_even_if_the_flow_then_fails(repository, monkeypatch, complete):
    monkeypatch.setattr(versions, "get_run_logger", lambda: logging.getLogger("flow"))
    monkeypatch.setattr(versions, "is_complete", lambda stage: complete)

    def run():
        (repository / "out").unlink()
        (repository / "out").write_text("whole")
        raise ConnectionError("the server took no note of it")

    with pytest.raises(ConnectionError):
        versions.recorded("a", run)
    assert (json.loads(dvc("status", "--json", "a")) == {}) is complete


def test_what_is_up_to_date_is_known_while_another_process_runs_a_stage(repository):
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
    (repository / "in").write_text("2")
    assert up_to_date() == set()


def test_a_node_is_known_by_its_id(repository):
    (repository / "experiments").mkdir()
    (repository / "experiments/nodes.yaml").write_text("a:\n  a-0123abcd: {arguments: --set=x=1, reads: [out]}\n")
    (repository / "experiments/dvc.yaml").write_text(
        "vars: [nodes.yaml]\nstages:\n  a:\n    foreach: ${a}\n    do:\n      wdir: ..\n"
        "      cmd: echo ${item.arguments} > ${key}\n      deps: ['${item.reads[0]}']\n      outs: ['${key}']\n"
    )
    dvc("repro", "--quiet", "--single-item", "experiments/dvc.yaml:a@a-0123abcd")
    assert up_to_date() == {"a", "a-0123abcd"}


def test_what_dvc_refuses_is_one_line(repository):
    with pytest.raises(DataError, match=r"dvc status failed: ERROR: .*nothing") as refused:
        dvc("status", "nothing")
    assert "\n" not in str(refused.value)
