"""Partial clones of remote repositories over file://, and addresses that mean harm."""

import json

import pytest

from fusesearch.core.errors import RepositoryError
from fusesearch.evaluation.benchmarks import prepare, snapshot
from fusesearch.evaluation.grid import Benchmark
from fusesearch.search import clones
from fusesearch.search.clones import open_clone
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
    return work


def add_commit(work, number):
    committed(work, {f"pkg/m{name}.py": f"{name} in {number}\n" for name in range(30)})


def packs(clone):
    """Packs that came from a remote: one per request that brought anything."""
    return len(list(clone.git_dir.glob("objects/pack/*.promisor")))


def test_only_what_is_asked_for_is_fetched_in_one_request_and_once(work, tmp_path):
    first, second = git(work, "rev-parse", "HEAD~2"), git(work, "rev-parse", "HEAD~1")
    with open_clone(work.as_uri(), tmp_path) as clone:
        clone.have_blobs([first])
        assert packs(clone) == 2  # commits and trees; the thirty blobs
        with Git(clone.git_dir) as reader:
            assert not reader.absent([first])
            assert len(reader.absent([second])) == 30
        clone.have_blobs([second])
        assert packs(clone) == 3
    work.rename(work.with_name("gone"))
    with open_clone(work.as_uri(), tmp_path) as clone:
        clone.publish(tmp_path / "copy.git", [first])
    files = SnapshotStore(tmp_path / "cache").repository(tmp_path / "copy.git", first)
    assert files.read_text("pkg/m7.py") == "7 in 0\n"


def test_new_commits_are_fetched_also_those_on_no_branch_and_only_by_full_ids(work, tmp_path):
    with open_clone(work.as_uri(), tmp_path):
        add_commit(work, 9)
        add_commit(work, 10)
        new = git(work, "rev-parse", "HEAD")
        git(work, "reset", "-q", "--hard", "HEAD~1")  # only its id leads to it
    hostile = {"--upload-pack=x", "a:refs/heads/main", "+main", "a..b", "a\nb", "", new[:9]}
    with open_clone(work.as_uri(), tmp_path) as clone:
        assert clone.have_commits({new, git(work, "rev-parse", "HEAD"), "1" * 40, *hostile}) == {"1" * 40, *hostile}


def test_a_remote_that_cannot_filter_is_cloned_whole(work, tmp_path):
    git(work, "config", "uploadpack.allowFilter", "false")
    with open_clone(work.as_uri(), tmp_path) as clone, Git(clone.git_dir) as reader:
        assert not reader.absent([git(work, "rev-parse", "HEAD")])


HOSTILE_ADDRESSES = (
    "ext::sh -c touch% ran", "ext::sh", "http://127.0.0.1:1/r.git", "git://127.0.0.1/r.git", "fd::17/x", "FILE:///tmp/x",
    "--upload-pack=touch${IFS}ran;://x", "ssh://-oProxyCommand=touch${IFS}ran/r.git", "ssh://-x@host/r.git",
    "-oProxyCommand=x@host:path", "git@host:path", "https://user:secret@127.0.0.1:1/r.git",
    "https:///r.git", "https://[::1/r.git", "https://h:port/r.git", "file:///tmp/a b\n",
)  # fmt: skip


def test_a_hostile_address_is_refused_in_one_line_before_git_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(clones.Clone, "_run", lambda *_: pytest.fail("git ran"))
    for address in HOSTILE_ADDRESSES:
        with pytest.raises(RepositoryError, match="needs an https") as caught, open_clone(address, tmp_path):
            pass
        assert "secret" not in str(caught.value)


def test_a_benchmark_without_clones_is_cloned(work, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_SERVER_URL", tmp_path.as_uri())
    (tmp_path / "o").mkdir()
    work.rename(tmp_path / "o" / "r.git")
    row = {"instance_id": "i", "repo": "o/r", "base_commit": git(tmp_path / "o/r.git", "rev-parse", "HEAD~1"), "patch": "",
           "problem_statement": "x", "truth": {"files": ["pkg/m7.py"]}}  # fmt: skip
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    found = prepare(Benchmark(name="b", instances=tmp_path / "rows.jsonl"), tmp_path / "out", 0)
    files = snapshot(found.repos, SnapshotStore(tmp_path / "cache"), found.instances[0])
    assert files.read_text("pkg/m7.py") == "7 in 1\n"


def test_a_remote_that_does_not_answer_ends_after_the_time_limit(tmp_path, monkeypatch):
    given = {**clones._environment(), "GIT_SSH_COMMAND": "sh -c 'sleep 60'", "GIT_SSH_VARIANT": "simple"}
    monkeypatch.setattr(clones, "_environment", lambda: given)
    monkeypatch.setattr(clones, "TIMEOUT_SECONDS", 0.5)
    with pytest.raises(RepositoryError, match="no end after"), open_clone("ssh://nowhere.invalid/r.git", tmp_path):
        pass
