"""A bounded cache of snapshots: what goes first, what stays, and what a kill does to it."""

import os

import pytest

from fusesearch.core.errors import ConfigError
from fusesearch.search import eviction, snapshots
from fusesearch.search.eviction import drop_blobs, evict, measure
from fusesearch.search.snapshots import SnapshotStore
from tests.fakes.git import git

COMMITS = 12
BIG = 200_000  # bytes of the file that every commit changes
ROOMY = 10**9
SMALL = 4 * BIG


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """A repository and the ids of its commits, each of which changes one big file and leaves another alone."""
    work = tmp_path_factory.mktemp("history")
    git(work, "init", "-q", "-b", "main")
    (work / "same.py").write_text("same\n")
    for number in range(COMMITS):
        (work / "big.py").write_text(f"{number} " * (BIG // (len(str(number)) + 1)))
        git(work, "add", ".")
        git(work, "commit", "-qm", str(number))
    return work, git(work, "rev-list", "--reverse", "HEAD").split()


@pytest.fixture(autouse=True)
def _no_objects_of_other_tests():
    yield
    snapshots._repository.cache_clear()


def filled(cache_dir, history, number=COMMITS, limit=ROOMY):
    """A store with so many snapshots, the first of them used longest ago."""
    work, commits = history
    store = SnapshotStore(cache_dir, limit)
    folders = [store.repository(work, commit).root for commit in commits[:number]]
    for age, folder in enumerate(reversed(folders)):
        make_old(folder, age)
    return store, folders


def make_old(folder, age=0):
    os.utime(folder, (1_700_000_000 - age,) * 2)


def blobs(store):
    return sum(len(files) for _, _, files in os.walk(store.cache_dir / "blobs"))


def test_the_least_recently_used_go_first_with_the_blobs_that_nothing_else_uses(tmp_path, history):
    work, commits = history
    store, folders = filled(tmp_path, history)
    store.repository(work, commits[0])
    evict(tmp_path, SMALL)
    left = [folder for folder in folders if folder.exists()]
    assert left[0] == folders[0]
    assert left[1:] == folders[COMMITS - len(left) + 1 :]
    assert measure(tmp_path)[1] <= SMALL
    assert blobs(store) == len(left) + 1
    assert (left[0] / "same.py").read_text() == "same\n"


def test_a_cache_stays_below_its_limit_as_it_grows(tmp_path, history):
    work, commits = history
    store = SnapshotStore(tmp_path, SMALL)
    for commit in commits * 2:
        folder = store.repository(work, commit).root
        assert (folder / "big.py").is_file()
        assert measure(tmp_path)[1] <= SMALL + BIG
        make_old(folder)


def test_a_snapshot_used_within_a_day_is_not_evicted_whatever_the_limit(tmp_path, history):
    work, commits = history
    store = SnapshotStore(tmp_path, 1)
    held = store.repository(work, commits[0])
    for commit in commits[1:4]:
        make_old(store.repository(work, commit).root)
    evict(tmp_path, 1)
    assert held.read_text("same.py") == "same\n"
    assert os.listdir(tmp_path / "trees") == [held.root.name]
    assert blobs(store) == 2
    make_old(held.root)
    evict(tmp_path, 1)
    assert os.listdir(tmp_path / "trees") == []
    assert blobs(store) == 0


def test_a_blob_evicted_between_its_coming_and_its_use_is_fetched_again(tmp_path, history, monkeypatch):
    work, commits = history
    store = SnapshotStore(tmp_path, ROOMY)
    real, calls = snapshots.TreeBuilder._fetch, []

    def fetch_and_lose(self, *arguments):
        real(self, *arguments)
        calls.append(1)
        if len(calls) == 1:
            drop_blobs(store.cache_dir)

    monkeypatch.setattr(snapshots.TreeBuilder, "_fetch", fetch_and_lose)
    folder = store.repository(work, commits[0]).root
    assert sorted(os.listdir(folder)) == ["big.py", "same.py"]
    assert len(calls) == 2


def test_an_eviction_killed_in_the_middle_leaves_no_half_tree(tmp_path, history, monkeypatch):
    store, folders = filled(tmp_path, history)
    monkeypatch.setattr(eviction.shutil, "rmtree", lambda *_, **__: os._exit(9))
    if (child := os.fork()) == 0:
        evict(tmp_path, 1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    monkeypatch.undo()
    assert not folders[0].exists()
    assert os.listdir(tmp_path / "tmp")  # goes with other leftovers when it is a day old
    work, commits = history
    assert (store.repository(work, commits[0]).root / "same.py").read_text() == "same\n"


def test_the_environment_says_the_limit_in_gigabytes(tmp_path, monkeypatch):
    monkeypatch.delenv("FUSESEARCH_CACHE_GB", raising=False)
    assert SnapshotStore(tmp_path).limit == 20 * 10**9
    monkeypatch.setenv("FUSESEARCH_CACHE_GB", "0.5")
    assert SnapshotStore(tmp_path).limit == 5 * 10**8
    for text in ("-1", "0", "much", "nan", "inf"):
        monkeypatch.setenv("FUSESEARCH_CACHE_GB", text)
        with pytest.raises(ConfigError, match="FUSESEARCH_CACHE_GB"):
            SnapshotStore(tmp_path)
