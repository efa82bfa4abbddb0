"""Unfinished work is found again for the same inputs only, and results replace what was there."""

import errno
import os
import threading

import pytest
from filelock import FileLock

from fusesearch.core.config import Mine
from fusesearch.core.digests import digest, file_digest
from fusesearch.core.errors import AlreadyRunning, ArtifactError
from tasks.running.process import identity
from tasks.running.resume import alone, finished, progress_dir, publish


def test_same_inputs_find_the_same_folder_and_any_other_another(tmp_path):
    data, root = tmp_path / "in", tmp_path / "progress"
    data.mkdir()
    (data / "a.txt").write_text("one")
    first = progress_dir("mine", Mine(), 3, data, root=root)
    assert first.is_dir()
    assert progress_dir("mine", Mine(), 3, data, root=root) == first
    found = {first, progress_dir("mine", Mine(workers=7), 3, data, root=root), progress_dir("mine", Mine(), 4, data, root=root)}
    found.add(progress_dir("sft", Mine(), 3, data, root=root))
    (data / "a.txt").write_text("two")
    found.add(progress_dir("mine", Mine(), 3, data, root=root))
    (data / "a.txt").rename(data / "b.txt")
    found.add(progress_dir("mine", Mine(), 3, data, root=root))
    assert len(found) == 6


def test_a_missing_input_names_what_to_run(tmp_path):
    with pytest.raises(ArtifactError, match=r"pairs\.parquet is missing: run the stage that makes it \(`dvc repro`\)"):
        progress_dir("filter", tmp_path / "pairs.parquet", root=tmp_path / "progress")


def test_compiled_files_do_not_count(tmp_path):
    (tmp_path / "a.py").write_text("x = 1")
    before = digest(tmp_path)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__/a.pyc").write_bytes(b"\0")
    assert digest(tmp_path) == before


def test_finished_removes_only_that_stage(tmp_path):
    mine = progress_dir("grpo", 1, root=tmp_path)
    other = progress_dir("grpo-like", 1, root=tmp_path)
    finished("grpo", root=tmp_path)
    assert not mine.exists()
    assert other.exists()


def test_file_digest_is_what_dvc_records(tmp_path):
    (tmp_path / "a").write_bytes(b"hello\n")
    assert file_digest(tmp_path / "a") == "b1946ac92492d2347c6235b4d2611184"


@pytest.mark.parametrize("across_file_systems", [False, True])
def test_publish_replaces_a_folder_as_a_whole(tmp_path, monkeypatch, across_file_systems):
    source, target = tmp_path / "scratch/work", tmp_path / "mounted/final"
    source.mkdir(parents=True)
    (source / "new").write_text("new")
    target.mkdir(parents=True)
    (target / "old").write_text("old")
    rename = os.rename

    def across(old, new, **_):  # type: ignore[no-untyped-def]
        if "scratch" in str(old) and "mounted" in str(new):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        rename(old, new)

    if across_file_systems:
        monkeypatch.setattr(os, "replace", across)
        monkeypatch.setattr(os, "rename", across)
    publish(source, target)
    assert [child.name for child in target.parent.iterdir()] == ["final"]
    assert [child.name for child in target.iterdir()] == ["new"]
    assert not source.exists()


def test_a_process_whose_starter_is_gone_is_waited_for(tmp_path, monkeypatch):
    held = FileLock(tmp_path / ".lock", thread_local=False)
    held.acquire()
    (tmp_path / "owners").write_text(identity(os.getpid()))
    with pytest.raises(AlreadyRunning), alone("sft", tmp_path):
        pass
    (tmp_path / "owners").write_text("1 0.5")
    threading.Timer(0.5, held.release).start()
    with alone("sft", tmp_path):
        assert (tmp_path / "owners").read_text() == ""
