"""Snapshots of real git repositories."""

import os
import shutil
import time

import pytest

from fusesearch.core.errors import RepositoryError
from fusesearch.core.schema import Instance
from fusesearch.evaluation import benchmarks
from fusesearch.search import snapshots
from fusesearch.search.snapshots import SnapshotStore, instance_snapshot
from tests.fakes.git import committed, git, write


@pytest.fixture
def work(tmp_path):
    """Two commits that share most files."""
    work = tmp_path / "work"
    write(work, {"a.py": "one\n", "pkg/tool.sh": "#!/bin/sh\n"})
    (work / "pkg/b.py").write_bytes(b"\xff\r\nb\n")
    (work / "pkg/tool.sh").chmod(0o755)
    (work / "link").symlink_to("/etc/passwd")
    (work / "inner").symlink_to("a.py")
    committed(work)
    committed(work, {"a.py": "two\n"})
    return work


@pytest.fixture
def store(tmp_path):
    return SnapshotStore(tmp_path / "cache")


def raw_tree(work, lines):
    """Commit a tree that git's own commands would refuse to make."""
    tree = git(work, "mktree", given="".join(f"{line}\n" for line in lines))
    return git(work, "commit-tree", tree, "-m", "hostile")


def test_content_is_shared_between_snapshots_and_read_only(store, work):
    first, second = store.repository(work, "HEAD~1").root, store.repository(work / ".git", "main").root
    assert (first / "a.py").read_text() == "one\n"
    assert (second / "a.py").read_text() == "two\n"
    assert (first / "pkg" / "b.py").read_bytes() == b"\xff\r\nb\n"
    assert sorted(os.listdir(first)) == ["a.py", "inner", "link", "pkg"]
    assert os.path.samefile(first / "pkg" / "b.py", second / "pkg" / "b.py")
    assert not os.path.samefile(first / "a.py", second / "a.py")
    assert (first / "pkg" / "tool.sh").stat().st_mode & 0o777 == 0o444


def test_equal_trees_are_one_snapshot_and_made_once(store, work, monkeypatch):
    commit = git(work, "rev-parse", "HEAD")
    folder = store.repository(work, commit).root
    git(work, "commit", "-q", "--allow-empty", "-m", "nothing")
    assert store.repository(work, "HEAD").root == folder
    monkeypatch.setattr(snapshots, "Git", None)
    assert store.repository(work / "anywhere", commit).root == folder


def test_submodules_are_skipped_and_a_hostile_tree_stays_inside_its_folder(store, work, tmp_path):
    blob = git(work, "rev-parse", "HEAD:a.py")
    target = git(work, "hash-object", "-w", "--stdin", given=str(tmp_path))
    inner = git(work, "mktree", given=f"100644 blob {blob}\tpwned\n")
    lines = [
        f"040000 tree {inner}\t..", f"040000 tree {inner}\t.git", f"120000 blob {target}\t.gitignore", f"100644 blob {blob}\tok",
        f"160000 commit {'1' * 40}\tvendored",
    ]  # fmt: skip
    assert os.listdir(store.repository(work, raw_tree(work, lines)).root) == ["ok"]
    assert not list(tmp_path.rglob("pwned"))
    store.repository(work, raw_tree(work, [f"120000 blob {target}\tx", f"040000 tree {inner}\tx"]))
    assert not (tmp_path / "pwned").exists()


def test_what_is_missing_is_one_clear_line_and_leaves_no_snapshot(store, work, tmp_path):
    (tmp_path / "plain").mkdir()
    blob = git(work, "rev-parse", "HEAD:a.py")
    (work / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    unknown = ("0" * 40, "nothing", "--output=x", "HEAD..main", "^HEAD", "a\nb", "")
    wrong = [(tmp_path / name, "HEAD", name) for name in ("missing", "plain")]
    for folder, commit, words in (*((work, name, ".") for name in unknown), *wrong, (work, "HEAD", "missing or damaged")):
        with pytest.raises(RepositoryError, match=words) as caught:
            store.repository(folder, commit)
        assert str(caught.value).isprintable()
    assert os.listdir(store.cache_dir / "trees") == []


def test_in_a_benchmark_what_a_partial_clone_lacks_is_empty_if_it_is_no_code(store, tmp_path):
    source = tmp_path / "o__n.git"
    first = committed(source, {"a.py": "one\n", "tests/places.sqlite": "rows\n"})
    second = committed(source, {"a.py": "two\n"})

    def lose(name):
        blob = git(source, "rev-parse", name)
        (source / ".git" / "objects" / blob[:2] / blob[2:]).unlink()

    lose(f"{first}:tests/places.sqlite")
    lose(f"{first}:a.py")
    row = Instance(instance_id="i", repo="o/n", base_commit=second, problem_statement="p", patch="")
    root = benchmarks.snapshot(tmp_path, store, row).root
    assert [(root / name).read_text() for name in ("a.py", "tests/places.sqlite")] == ["two\n", ""]
    with pytest.raises(RepositoryError, match="missing or damaged"):
        benchmarks.snapshot(tmp_path, store, row.model_copy(update={"base_commit": first}))
    git(source, "hash-object", "-w", "--stdin", given="rows\n")
    assert (store.repository(source, second).root / "tests/places.sqlite").read_text() == "rows\n"


def test_the_environment_and_hooks_of_git_have_no_say(store, work, tmp_path, monkeypatch):
    hook = work / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere")
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    assert (store.repository(work, "HEAD").root / "a.py").read_text() == "two\n"
    assert not (tmp_path / "ran").exists()


def test_a_file_with_all_links_taken_goes_on_in_a_copy(store, work, monkeypatch):
    real = os.link
    monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError(31, "Too many links")))
    folder = store.repository(work, "HEAD~1").root
    monkeypatch.setattr(os, "link", real)
    assert (folder / "a.py").read_text() == "one\n"
    assert (folder / "a.py").stat().st_mode & 0o777 == 0o444
    assert (store.repository(work, "HEAD").root / "pkg" / "b.py").stat().st_nlink == 2


def test_a_process_killed_in_the_middle_leaves_no_half_snapshot(store, work, monkeypatch):
    monkeypatch.setattr(os, "rename", lambda *_: os._exit(9))
    if (child := os.fork()) == 0:
        store.repository(work, "HEAD")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    monkeypatch.undo()
    assert os.listdir(store.cache_dir / "trees") == []
    left = os.listdir(store.cache_dir / "tmp")
    assert left
    assert (store.repository(work, "HEAD").root / "a.py").read_text() == "two\n"
    os.utime(store.cache_dir / "tmp" / left[0], (time.time() - 2 * 24 * 3600,) * 2)
    SnapshotStore(store.cache_dir)
    assert os.listdir(store.cache_dir / "tmp") == []


def test_the_tree_of_an_instance(store, work, tmp_path):
    repos = tmp_path / "repos"
    git(tmp_path, "clone", "-q", "--bare", str(work), str(repos / "sympy__ntheory.git"))
    commit = git(work, "rev-parse", "HEAD~1")
    instance = Instance(instance_id="i", repo="sympy/ntheory", base_commit=commit, problem_statement="")
    repository = instance_snapshot(store, repos, instance)
    assert repository.files() == ["a.py", "pkg/b.py", "pkg/tool.sh"]
    assert instance_snapshot(store, repos, instance) is repository
    assert repository.history == (repos / "sympy__ntheory.git", commit)
    synthetic = instance.model_copy(update={"provenance": {"source": "synthetic"}})
    assert not instance_snapshot(store, repos, synthetic).history[0].exists()  # its newest commit planted the fault
    shutil.rmtree(repos)
    assert instance_snapshot(store, repos, instance).read_text("a.py") == "one\n"
