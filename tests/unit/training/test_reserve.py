"""Which instances are held out of training, and from where a training that was killed goes on."""

from collections import Counter

import pytest

from fusesearch.core.errors import DataError
from fusesearch.core.schema import Instance
from fusesearch.training.trainer import resume_point
from fusesearch.training.validation import reserve


def pool(*sizes):
    return [
        Instance(instance_id=f"{repo}-{n}", repo=f"o/{repo}", base_commit="c", problem_statement="p")
        for repo, size in enumerate(sizes)
        for n in range(size)
    ]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("sizes", "prompts", "repositories"),
    [([40] * 16, 32, 4), ([10] * 40, 128, 13), ([3] * 12, 4, 4)],  # as many as hold enough
)
def test_whole_repositories_are_left_out_and_give_equally(sizes, prompts, repositories, seed):
    training, held_out = reserve(pool(*sizes), prompts, seed)
    by_repo = Counter(row.repo for row in held_out)
    assert (len(held_out), len(by_repo)) == (prompts, repositories)
    assert not by_repo.keys() & {row.repo for row in training}
    assert len(training) == sum(sizes) - repositories * sizes[0]


@pytest.mark.parametrize(("sizes", "prompts"), [([50], 8), ([20, 20], 8), ([3, 100], 8), ([2, 2, 2, 2, 2], 5)])
def test_where_training_would_keep_too_little_only_the_prompts_are_left_out(sizes, prompts):
    training, held_out = reserve(pool(*sizes), prompts, 0)
    assert (len(training), len(held_out)) == (sum(sizes) - prompts, prompts)
    assert {row.instance_id for row in training} | {row.instance_id for row in held_out} == {
        row.instance_id for row in pool(*sizes)
    }


def test_the_seed_draws_them_and_their_order_in_the_file_does_not():
    rows = pool(*[40] * 16)
    first, again, other = (
        {row.instance_id for row in reserve(given, 32, seed)[1]} for given, seed in ((rows, 0), (rows, 0), (rows, 1))
    )
    assert first == again != other


def test_a_small_pool_gives_half_and_one_without_two_prompts_to_spare_is_refused():
    assert [len(rows) for rows in reserve(pool(9), 8, 0)] == [5, 4]
    with pytest.raises(DataError, match="the rl split has 3 instances, too few for a validation"):
        reserve(pool(3), 8, 0)


def saved(out, step, whole=True):
    folder = out / "trainer" / f"checkpoint-{step}"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_text("")
    if whole:
        (folder / "trainer_state.json").write_text("{}")
    return folder


def test_training_goes_on_from_the_step_with_the_highest_number_and_starts_over_without_one(tmp_path):
    assert resume_point(tmp_path) is None
    saved(tmp_path, 9)
    last = saved(tmp_path, 10)
    assert resume_point(tmp_path) == str(last)


def test_a_step_that_a_kill_or_a_full_disk_cut_off_is_deleted_and_the_one_before_counts(tmp_path):
    before, cut = saved(tmp_path, 20), saved(tmp_path, 40, whole=False)
    assert resume_point(tmp_path) == str(before)
    assert not cut.exists()
