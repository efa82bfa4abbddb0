"""Snapshots of remote repositories: partial clones over file://, and addresses that mean harm."""

import os
from pathlib import Path

import pytest

from fusesearch.core.errors import RepositoryError
from fusesearch.search import clones
from fusesearch.search.git import Git
from fusesearch.search.snapshots import SnapshotStore
from tests.fakes.git import git


@pytest.fixture
def work(tmp_path):
    """A repository that can be cloned in part: three commits, thirty files that each of them changes."""
    work = tmp_path / "remote"
    (work / "pkg").mkdir(parents=True)
    git(work, "init", "-q", "-b", "main")
    git(work, "config", "uploadpack.allowFilter", "true")
    for number in range(3):
        add_commit(work, number)
    git(work, "tag", "v1", "HEAD~1")
    return work


@pytest.fixture
def store(tmp_path):
    return SnapshotStore(tmp_path / "cache")


def add_commit(work, number):
    for name in range(30):
        (work / "pkg" / f"m{name}.py").write_text(f"{name} in {number}\n")
    git(work, "add", ".")
    git(work, "commit", "-qm", f"commit {number}")


def address(work):
    return work.as_uri()


def packs(store):
    """Packs that came from a remote: one per request that brought anything."""
    return len(list((store.cache_dir / "clones").glob("*.git/objects/pack/*.promisor")))


def test_only_what_is_asked_for_is_fetched_in_one_request_and_once(store, work):
    first, second = git(work, "rev-parse", "HEAD~2"), git(work, "rev-parse", "HEAD~1")
    folder = store.repository(address(work), first).root
    assert (folder / "pkg" / "m7.py").read_text() == "7 in 0\n"
    assert len(os.listdir(folder / "pkg")) == 30
    assert packs(store) == 2  # commits and trees; the thirty blobs
    clone = next((store.cache_dir / "clones").glob("*.git"))
    with Git(clone) as reader:
        assert not reader.absent([first])
        assert len(reader.absent([second])) == 30
    store.repository(address(work), second)
    assert packs(store) == 3
    work.rename(work.with_name("gone"))
    assert store.repository(address(work), first).root == folder


def test_a_commit_made_after_the_clone_is_fetched(store, work):
    store.repository(address(work), "main")
    add_commit(work, 9)
    new = git(work, "rev-parse", "HEAD")
    git(work, "reset", "-q", "--hard", "HEAD~1")  # on no branch: only its id leads to it
    assert (store.repository(address(work), new).root / "pkg" / "m0.py").read_text() == "0 in 9\n"


def test_branches_are_fetched_again_and_tags_and_short_ids_are_understood(store, work):
    store.repository(address(work), "main")
    add_commit(work, 9)
    assert (store.repository(address(work), "main").root / "pkg" / "m0.py").read_text() == "0 in 9\n"
    assert (store.repository(address(work), "v1").root / "pkg" / "m0.py").read_text() == "0 in 1\n"
    assert (store.repository(address(work), git(work, "rev-parse", "--short", "v1")).root / "pkg" / "m0.py").is_file()


def test_a_remote_that_cannot_filter_is_cloned_whole(store, work):
    git(work, "config", "uploadpack.allowFilter", "false")
    assert (store.repository(address(work), "main").root / "pkg" / "m0.py").is_file()


def test_a_partial_clone_is_never_fetched_into_behind_our_back(store, work, tmp_path):
    git(tmp_path, "clone", "-q", "--bare", "--filter=blob:none", address(work), "partial.git")
    with pytest.raises(RepositoryError) as caught:
        store.repository(tmp_path / "partial.git", "main")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "hostile",
    [
        "ext::sh -c touch% ran", "ext::sh", "http://127.0.0.1:1/r.git", "git://127.0.0.1/r.git", "fd::17/x", "FILE:///tmp/x",
        "--upload-pack=touch${IFS}ran;://x", "ssh://-oProxyCommand=touch${IFS}ran/r.git", "ssh://-x@host/r.git",
        "-oProxyCommand=x@host:path", "git@-oProxyCommand=x:path", "git@host:-path", "https://user:secret@127.0.0.1:1/r.git",
        "https:///r.git", "https://[::1/r.git", "https://h:port/r.git", "file:///tmp/a b\n",
    ],
)  # fmt: skip
def test_a_hostile_address_is_refused_in_one_line_before_git_runs(store, hostile, monkeypatch):
    monkeypatch.setattr(clones.Clone, "_run", lambda *_: pytest.fail("git ran"))
    with pytest.raises(RepositoryError) as caught:
        store.repository(hostile, "main")
    assert str(caught.value).isprintable()
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("commit", ["--upload-pack=x", "a:refs/heads/main", "+main", "^main", "a..b", "refs/*", "a b", ""])
def test_a_hostile_name_of_a_commit_is_refused_in_one_line(store, work, commit, monkeypatch):
    monkeypatch.setattr(clones.Clone, "_run", lambda *_: pytest.fail("git ran"))
    with pytest.raises(RepositoryError) as caught:
        store.repository(address(work), commit)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("commit", ["1" * 40, "nosuch"])
def test_a_commit_the_remote_does_not_have_is_one_clear_line(store, work, commit):
    with pytest.raises(RepositoryError, match="remote") as caught:
        store.repository(address(work), commit)
    assert str(caught.value).isprintable()


def test_a_remote_that_is_not_there_is_one_clear_line_and_leaves_nothing(store, tmp_path):
    with pytest.raises(RepositoryError, match="missing"):
        store.repository((tmp_path / "missing").as_uri(), "main")
    assert os.listdir(store.cache_dir / "tmp") == []
    assert not list((store.cache_dir / "clones").glob("*.git"))


def test_a_remote_that_does_not_answer_ends_after_the_time_limit(store, work, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin" / "git-upload-pack"
    fake.write_text("#!/bin/sh\nsleep 60\n")
    fake.chmod(0o755)
    real = clones._environment
    monkeypatch.setattr(clones, "_environment", lambda: {**real(), "GIT_EXEC_PATH": exec_path_with(fake, tmp_path)})
    monkeypatch.setattr(clones, "TIMEOUT_SECONDS", 0.5)
    with pytest.raises(RepositoryError, match="no end after"):
        store.repository(address(work), "main")


def exec_path_with(fake, tmp_path):
    """A copy of git's folder of programs in which one is replaced."""
    real = Path(git(tmp_path, "--exec-path"))
    folder = tmp_path / "exec"
    folder.mkdir()
    for program in real.iterdir():
        if program.name != fake.name:
            (folder / program.name).symlink_to(program)
    (folder / fake.name).symlink_to(fake)
    return str(folder)
