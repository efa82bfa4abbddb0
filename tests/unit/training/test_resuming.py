"""From where a training goes on that was killed."""

from pathlib import Path

from fusesearch.training.trainer import resume_point


def saved(out: Path, step: int, whole: bool = True) -> Path:
    folder = out / "trainer" / f"checkpoint-{step}"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_text("")
    if whole:
        (folder / "trainer_state.json").write_text("{}")
    return folder


def test_without_a_saved_step_training_starts_over(tmp_path):
    assert resume_point(tmp_path) is None


def test_training_goes_on_from_the_step_with_the_highest_number(tmp_path):
    saved(tmp_path, 9)
    last = saved(tmp_path, 10)
    assert resume_point(tmp_path) == str(last)


def test_a_step_that_a_kill_or_a_full_disk_cut_off_is_deleted_and_the_one_before_counts(tmp_path):
    before, cut = saved(tmp_path, 20), saved(tmp_path, 40, whole=False)
    assert resume_point(tmp_path) == str(before)
    assert not cut.exists()
