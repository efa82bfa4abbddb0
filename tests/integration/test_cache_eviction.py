"""A bounded cache of snapshots: what goes first, what stays, and what many processes and kills do to it."""

import gc
import multiprocessing
import os
import random
import subprocess
from concurrent.futures import ProcessPoolExecutor

import pytest

from tasks.core.errors import ConfigError
from tasks.search import eviction, snapshots
from tasks.search.eviction import lease, measure
from tasks.search.snapshots import SnapshotStore

IDENTITY = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
COMMITS = 12
BIG = 200_000  # bytes of the file that every commit changes
ROOMY = 10**9
SMALL = 4 * BIG


def git(folder, *arguments):
    command = ["git", *IDENTITY, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


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
    gc.collect()


def filled(cache_dir, history, number=COMMITS, limit=ROOMY):
    """A store with so many snapshots, the first of them used longest ago."""
    work, commits = history
    store = SnapshotStore(cache_dir, limit)
    folders = [store.materialize(work, commit) for commit in commits[:number]]
    for age, folder in enumerate(reversed(folders)):
        os.utime(folder, (1_700_000_000 - age,) * 2)
    return store, folders


def blobs(store):
    return sum(len(files) for _, _, files in os.walk(store.cache_dir / "blobs"))


def test_the_least_recently_used_go_first_with_the_blobs_that_nothing_else_uses(tmp_path, history):
    store, folders = filled(tmp_path, history)
    os.utime(folders[0])
    small = SnapshotStore(tmp_path, SMALL)
    freed = small.bound.evict()
    left = [folder for folder in folders if folder.exists()]
    assert left[0] == folders[0]
    assert left[1:] == folders[COMMITS - len(left) + 1 :]
    assert measure(tmp_path).total <= SMALL
    assert freed >= (COMMITS - len(left)) * BIG
    assert blobs(store) == len(left) + 1
    assert (left[0] / "same.py").read_text() == "same\n"


def test_using_a_snapshot_again_makes_it_recent(tmp_path, history):
    work, commits = history
    store, folders = filled(tmp_path, history)
    store.materialize(work, commits[0])
    SnapshotStore(tmp_path, SMALL).bound.evict()
    assert folders[0].exists()
    assert not folders[1].exists()


def test_a_cache_stays_below_its_limit_as_it_grows(tmp_path, history):
    work, commits = history
    store = SnapshotStore(tmp_path, SMALL)
    for commit in commits * 2:
        assert (store.materialize(work, commit) / "big.py").is_file()
        assert measure(tmp_path).total <= SMALL + BIG


def test_the_cache_is_not_walked_while_there_is_room(tmp_path, history, monkeypatch):
    work, commits = history
    store = SnapshotStore(tmp_path, ROOMY)
    store.materialize(work, commits[0])
    walks = []
    monkeypatch.setattr(eviction, "_walk", lambda *_: walks.append(1) or iter(()))
    for commit in commits:
        store.materialize(work, commit)
    assert not walks


def test_a_snapshot_somebody_holds_is_not_evicted_and_goes_when_let_go(tmp_path, history):
    work, commits = history
    store = SnapshotStore(tmp_path, 1)
    held = store.repository(work, commits[0])
    for commit in commits[1:4]:
        store.materialize(work, commit)
    assert held.read_text("same.py") == "same\n"
    root = held.root
    del held
    snapshots._repository.cache_clear()
    gc.collect()
    store.materialize(work, commits[5])
    store.bound.evict()
    assert not root.exists()


def hold(cache_dir, work, commit, ready, done):
    repository = SnapshotStore(cache_dir, ROOMY).repository(work, commit)
    ready.set()
    done.wait(60)
    os._exit(0 if repository.read_text("same.py") == "same\n" else 1)


def test_a_snapshot_in_use_by_another_process_stays_until_that_is_killed(tmp_path, history):
    work, commits = history
    context = multiprocessing.get_context("fork")
    ready, done = context.Event(), context.Event()
    other = context.Process(target=hold, args=(tmp_path, work, commits[0], ready, done))
    other.start()
    assert ready.wait(60)
    store = SnapshotStore(tmp_path, 1)
    store.bound.evict()
    assert len(os.listdir(tmp_path / "trees")) == 1
    assert blobs(store) == 2
    other.kill()
    other.join()
    store.bound.evict()
    assert os.listdir(tmp_path / "trees") == []
    assert blobs(store) == 0


def use_many(cache_dir, work, commits, seed):
    """Read snapshots while others evict them; whether all that was read was whole."""
    store = SnapshotStore(cache_dir, SMALL)
    order = random.Random(seed).choices(commits, k=15)
    whole = True
    for commit in order:
        repository = store.repository(work, commit)
        number = str(commits.index(commit))
        text = repository.read_text("big.py")
        whole = whole and text.startswith(f"{number} ") and len(text) > BIG - 10 and repository.read_text("same.py") == "same\n"
        snapshots._repository.cache_clear()
    return whole


def test_many_processes_read_and_evict_at_once(tmp_path, history):
    work, commits = history
    with ProcessPoolExecutor(4, mp_context=multiprocessing.get_context("spawn")) as pool:
        jobs = [pool.submit(use_many, tmp_path, work, commits, seed) for seed in range(4)]
        assert all(job.result() for job in jobs)
    assert os.listdir(tmp_path / "tmp") == []
    SnapshotStore(tmp_path, SMALL).bound.evict()
    assert measure(tmp_path).total <= SMALL


def test_a_blob_evicted_between_its_coming_and_its_use_is_fetched_again(tmp_path, history, monkeypatch):
    work, commits = history
    store = SnapshotStore(tmp_path, ROOMY)
    real, calls = snapshots.TreeBuilder._fetch, []

    def fetch_and_lose(self, *arguments):
        real(self, *arguments)
        calls.append(1)
        if len(calls) == 1:
            store.bound._drop_blobs()

    monkeypatch.setattr(snapshots.TreeBuilder, "_fetch", fetch_and_lose)
    folder = store.materialize(work, commits[0])
    assert sorted(os.listdir(folder)) == ["big.py", "same.py"]
    assert len(calls) == 2


def test_an_eviction_killed_in_the_middle_is_finished_by_the_next(tmp_path, history, monkeypatch):
    store, folders = filled(tmp_path, history)
    monkeypatch.setattr(eviction.shutil, "rmtree", lambda *_, **__: os._exit(9))
    if (child := os.fork()) == 0:
        SnapshotStore(tmp_path, 1).bound.evict()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    monkeypatch.undo()
    assert not folders[0].exists()
    assert os.listdir(tmp_path / "tmp")
    SnapshotStore(tmp_path, SMALL).bound.evict()
    assert os.listdir(tmp_path / "tmp") == []
    assert measure(tmp_path).total <= SMALL
    work, commits = history
    assert (store.materialize(work, commits[0]) / "same.py").read_text() == "same\n"


@pytest.mark.parametrize("text", ["", "nonsense", "1 2 3", f"{SMALL} many", f"{ROOMY} 999999999"])
def test_a_damaged_account_is_made_again_from_what_is_there(tmp_path, history, text):
    work, commits = history
    filled(tmp_path, history, COMMITS - 1)
    (tmp_path / "room").write_text(text)
    SnapshotStore(tmp_path, SMALL).materialize(work, commits[-1])
    assert measure(tmp_path).total <= SMALL


def test_clones_go_after_the_trees_and_come_again(tmp_path, history):
    work, commits = history
    store = SnapshotStore(tmp_path, ROOMY)
    store.materialize(work.as_uri(), commits[0])
    usage = measure(tmp_path)
    assert [item.path.suffix for item in usage.clones] == [".git"]
    SnapshotStore(tmp_path, usage.total - 1).bound.evict()
    assert len(measure(tmp_path).clones) == 1
    SnapshotStore(tmp_path, 1).bound.evict()
    assert measure(tmp_path).clones == []
    assert (store.materialize(work.as_uri(), commits[0]) / "big.py").is_file()


def test_a_lease_on_what_is_gone_is_none(tmp_path):
    assert lease(tmp_path / "nothing") is None


@pytest.mark.parametrize("text", ["-1", "0", "much", "nan", "inf"])
def test_a_limit_that_is_no_number_of_gigabytes_is_one_clear_line(tmp_path, monkeypatch, text):
    monkeypatch.setenv("FUSESEARCH_CACHE_GB", text)
    with pytest.raises(ConfigError, match="FUSESEARCH_CACHE_GB"):
        SnapshotStore(tmp_path)


def test_the_environment_says_the_limit_in_gigabytes(tmp_path, monkeypatch):
    monkeypatch.delenv("FUSESEARCH_CACHE_GB", raising=False)
    assert SnapshotStore(tmp_path).bound.limit == 20 * 10**9
    monkeypatch.setenv("FUSESEARCH_CACHE_GB", "0.5")
    assert SnapshotStore(tmp_path).bound.limit == 5 * 10**8
