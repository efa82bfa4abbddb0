"""Unfinished work is found again for the same inputs only, and results replace what was there."""

from pathlib import Path

import pytest

from tasks.core.config import Mine
from tasks.core.digests import digest, file_digest
from tasks.core.errors import ArtifactError
from tasks.pipeline.progress import finished, progress_dir, publish


def test_same_inputs_find_the_same_folder(tmp_path: Path) -> None:
    data = tmp_path / "in"
    data.mkdir()
    (data / "a.txt").write_text("one")
    first = progress_dir("mine", Mine(), 3, data, root=tmp_path / "progress")
    assert first.is_dir()
    assert progress_dir("mine", Mine(), 3, data, root=tmp_path / "progress") == first


@pytest.mark.parametrize("change", ["content", "name", "params", "value", "stage"])
def test_any_other_input_finds_another_folder(tmp_path: Path, change: str) -> None:
    data = tmp_path / "in"
    data.mkdir()
    (data / "a.txt").write_text("one")
    before = progress_dir("mine", Mine(), 3, data, root=tmp_path / "progress")
    if change == "content":
        (data / "a.txt").write_text("two")
    if change == "name":
        (data / "a.txt").rename(data / "b.txt")
    params = Mine(workers=7) if change == "params" else Mine()
    value = 4 if change == "value" else 3
    stage = "sft" if change == "stage" else "mine"
    assert progress_dir(stage, params, value, data, root=tmp_path / "progress") != before


def test_compiled_files_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1")
    before = digest(tmp_path)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__/a.pyc").write_bytes(b"\0")
    assert digest(tmp_path) == before


def test_missing_input_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"gone is missing.*dvc repro"):
        progress_dir("mine", tmp_path / "gone", root=tmp_path)


def test_finished_removes_only_that_stage(tmp_path: Path) -> None:
    mine = progress_dir("grpo", 1, root=tmp_path)
    other = progress_dir("grpo-like", 1, root=tmp_path)
    finished("grpo", root=tmp_path)
    assert not mine.exists()
    assert other.exists()


def test_publish_replaces_a_folder_as_a_whole(tmp_path: Path) -> None:
    source, target = tmp_path / "work", tmp_path / "out/final"
    source.mkdir()
    (source / "new").write_text("new")
    target.mkdir(parents=True)
    (target / "old").write_text("old")
    publish(source, target)
    assert [child.name for child in target.iterdir()] == ["new"]
    assert [child.name for child in target.parent.iterdir()] == ["final"]


def test_publish_replaces_a_file(tmp_path: Path) -> None:
    (tmp_path / "new").write_text("new")
    (tmp_path / "final").write_text("old")
    publish(tmp_path / "new", tmp_path / "final")
    assert (tmp_path / "final").read_text() == "new"


def test_file_digest_is_what_dvc_records(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"hello\n")
    assert file_digest(tmp_path / "a") == "b1946ac92492d2347c6235b4d2611184"
