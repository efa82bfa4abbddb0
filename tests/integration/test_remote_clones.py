"""Snapshots of remote repositories: partial clones over file://, and addresses that mean harm."""

import os

import pytest

from fusesearch.core.errors import RepositoryError
from fusesearch.search import clones
from fusesearch.search.git import Git
from fusesearch.search.snapshots import SnapshotStore
from tests.fakes.git import committed, git


@pytest.fixture
def work(tmp_path):
    """A repository that can be cloned in part: three commits, thirty files that each of them changes."""
    work = tmp_path / "remote"
    for number in range(3):
        add_commit(work, number)
    git(work, "config", "uploadpack.allowFilter", "true")
    git(work, "tag", "v1", "HEAD~1")
    return work


@pytest.fixture
def store(tmp_path):
    return SnapshotStore(tmp_path / "cache")


def add_commit(work, number):
    committed(work, {f"pkg/m{name}.py": f"{name} in {number}\n" for name in range(30)})


def packs(store):
    """Packs that came from a remote: one per request that brought anything."""
    return len(list((store.cache_dir / "clones").glob("*.git/objects/pack/*.promisor")))


def test_only_what_is_asked_for_is_fetched_in_one_request_and_once(store, work):
    first, second = git(work, "rev-parse", "HEAD~2"), git(work, "rev-parse", "HEAD~1")
    folder = store.repository(work.as_uri(), first).root
    assert (folder / "pkg" / "m7.py").read_text() == "7 in 0\n"
    assert len(os.listdir(folder / "pkg")) == 30
    assert packs(store) == 2  # commits and trees; the thirty blobs
    clone = next((store.cache_dir / "clones").glob("*.git"))
    with Git(clone) as reader:
        assert not reader.absent([first])
        assert len(reader.absent([second])) == 30
    store.repository(work.as_uri(), second)
    assert packs(store) == 3
    work.rename(work.with_name("gone"))
    assert store.repository(work.as_uri(), first).root == folder


def test_new_commits_are_fetched_branches_again_and_tags_and_short_ids_are_understood(store, work):
    def first(commit):
        return (store.repository(work.as_uri(), commit).root / "pkg" / "m0.py").read_text()

    assert first("main") == "0 in 2\n"
    add_commit(work, 9)
    assert (first("main"), first("v1"), first(git(work, "rev-parse", "--short", "v1"))) == ("0 in 9\n", "0 in 1\n", "0 in 1\n")
    add_commit(work, 10)
    new = git(work, "rev-parse", "HEAD")
    git(work, "reset", "-q", "--hard", "HEAD~1")  # on no branch: only its id leads to it
    assert first(new) == "0 in 10\n"


def test_a_remote_that_cannot_filter_is_cloned_whole(store, work):
    git(work, "config", "uploadpack.allowFilter", "false")
    assert (store.repository(work.as_uri(), "main").root / "pkg" / "m0.py").is_file()


def test_a_partial_clone_is_never_fetched_into_behind_our_back(store, work, tmp_path):
    git(tmp_path, "clone", "-q", "--bare", "--filter=blob:none", work.as_uri(), "partial.git")
    with pytest.raises(RepositoryError) as caught:
        store.repository(tmp_path / "partial.git", "main")
    assert str(caught.value).isprintable()


HOSTILE_ADDRESSES = (
    "ext::sh -c touch% ran", "ext::sh", "http://127.0.0.1:1/r.git", "git://127.0.0.1/r.git", "fd::17/x", "FILE:///tmp/x",
    "--upload-pack=touch${IFS}ran;://x", "ssh://-oProxyCommand=touch${IFS}ran/r.git", "ssh://-x@host/r.git",
    "-oProxyCommand=x@host:path", "git@-oProxyCommand=x:path", "git@host:-path", "https://user:secret@127.0.0.1:1/r.git",
    "https:///r.git", "https://[::1/r.git", "https://h:port/r.git", "file:///tmp/a b\n",
)  # fmt: skip
HOSTILE_COMMITS = ("--upload-pack=x", "a:refs/heads/main", "+main", "^main", "a..b", "refs/*", "a b", "")


def test_a_hostile_address_or_name_of_a_commit_is_refused_in_one_line_before_git_runs(store, work, monkeypatch):
    monkeypatch.setattr(clones.Clone, "_run", lambda *_: pytest.fail("git ran"))
    addresses = [(address, "main") for address in HOSTILE_ADDRESSES]
    for address, commit in (*addresses, *((work.as_uri(), name) for name in HOSTILE_COMMITS)):
        with pytest.raises(RepositoryError) as caught:
            store.repository(address, commit)
        assert str(caught.value).isprintable()
        assert "secret" not in str(caught.value)


def test_a_commit_or_a_remote_that_is_not_there_is_one_clear_line_and_leaves_nothing(store, work, tmp_path):
    missing = (tmp_path / "missing").as_uri()
    with pytest.raises(RepositoryError, match="missing"):
        store.repository(missing, "main")
    assert os.listdir(store.cache_dir / "tmp") == []
    assert not list((store.cache_dir / "clones").glob("*.git"))
    for commit in ("1" * 40, "nosuch"):
        with pytest.raises(RepositoryError, match="remote") as caught:
            store.repository(work.as_uri(), commit)
        assert str(caught.value).isprintable()


def test_a_remote_that_does_not_answer_ends_after_the_time_limit(store, monkeypatch):
    given = {**clones._environment(), "GIT_SSH_COMMAND": "sh -c 'sleep 60'", "GIT_SSH_VARIANT": "simple"}
    monkeypatch.setattr(clones, "_environment", lambda: given)
    monkeypatch.setattr(clones, "TIMEOUT_SECONDS", 0.5)
    with pytest.raises(RepositoryError, match="no end after"):
        store.repository("ssh://nowhere.invalid/r.git", "main")
